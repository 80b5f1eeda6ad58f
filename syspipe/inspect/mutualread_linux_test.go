package inspect_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe/inspect"
	"golang.org/x/sys/unix"
)

// serverVariable is the command of the server that a client or relay starts; without it, it starts
// the job that serverJobVariable names.
const (
	serverVariable    = "INSPECT_TEST_SERVER"
	serverJobVariable = "INSPECT_TEST_SERVER_JOB"
)

func init() {
	jobs["expect"] = func() error { return expectAnswer(1) }
	jobs["expect more"] = func() error { return expectAnswer(100) }
	jobs["relay"] = relay
	jobs["tap"] = relay
	jobs["epoll"] = func() error { return swallow(awaitByEpoll) }
	jobs["poll"] = func() error { return swallow(awaitByPoll) }
	jobs["select"] = func() error { return swallow(awaitBySelect) }
}

// startServer starts the server of this child.
func startServer(stdin io.Reader, stdout io.Writer) (*exec.Cmd, error) {
	self, err := os.Executable() // os.Args[0] is "pipebench" in the job "tap"
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	if line := os.Getenv(serverVariable); line != "" {
		words := strings.Fields(line)
		cmd = exec.Command(words[0], words[1:]...)
	}
	cmd.Env = append(os.Environ(), serverVariable+"=")
	job := os.Getenv(serverJobVariable)
	if first, rest, ok := strings.Cut(job, ">"); ok { // the server is a relay that starts the rest
		cmd.Env = append(cmd.Env, serverJobVariable+"="+rest)
		job = first
	}
	cmd.Env = append(cmd.Env, jobVariable+"="+job)
	if job == "tap" {
		cmd.Args = []string{"pipebench", job}
	}
	cmd.Stdin, cmd.Stdout = stdin, stdout
	return cmd, cmd.Start()
}

// expectAnswer sends a server a message and waits for an answer of size bytes. When it is killed,
// its server sees the end of its input.
func expectAnswer(size int) error {
	toServer, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, fromServer, err := os.Pipe()
	if err != nil {
		return err
	}
	if _, err := startServer(toServer, fromServer); err != nil {
		return err
	}
	toServer.Close()
	fromServer.Close()
	if _, err := in.WriteString("a request\n"); err != nil {
		return err
	}
	_, err = io.ReadFull(out, make([]byte, size))
	return err
}

// relay passes its input on to a server, and the output of that back.
func relay() error {
	toServer, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, fromServer, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd, err := startServer(toServer, fromServer)
	if err != nil {
		return err
	}
	toServer.Close()
	fromServer.Close()
	go func() { io.Copy(os.Stdout, out) }()
	go func() { io.Copy(in, os.Stdin); in.Close() }()
	return cmd.Wait()
}

// swallow reads its input, whenever await returns, and never answers.
func swallow(await func() error) error {
	for {
		if err := await(); err != nil && err != unix.EINTR {
			return err
		}
		if n, err := unix.Read(0, make([]byte, 1024)); n <= 0 {
			return err
		}
	}
}

// awaitByEpoll waits for its input by an epoll descriptor that also watches a pipe of its own, as
// event loops do.
func awaitByEpoll() error {
	epoll, err := unix.EpollCreate1(0)
	if err != nil {
		return err
	}
	defer unix.Close(epoll)
	var own [2]int
	if err := unix.Pipe(own[:]); err != nil {
		return err
	}
	defer unix.Close(own[0])
	defer unix.Close(own[1])
	for _, fd := range []int{0, own[0]} {
		event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
			return err
		}
	}
	_, err = unix.EpollWait(epoll, make([]unix.EpollEvent, 1), -1)
	return err
}

func awaitByPoll() error {
	_, err := unix.Poll([]unix.PollFd{{Fd: 0, Events: unix.POLLIN}}, -1)
	return err
}

func awaitBySelect() error {
	var set unix.FdSet
	set.Set(0)
	_, err := unix.Select(1, &set, nil, nil, nil)
	return err
}

// nodeServer writes a server for node that swallows what it reads, and returns its command.
func nodeServer(t *testing.T) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not there")
	}
	script := filepath.Join(t.TempDir(), "swallow.js")
	const text = "process.stdin.on('data', () => {})\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return node + " " + script
}

// startClient starts a client, whose server does a job of this binary or is another program.
func startClient(t *testing.T, job, server string) int {
	t.Helper()
	cmd := child(t, "expect")
	cmd.Env = append(cmd.Env, serverJobVariable+"="+job, serverVariable+"="+server)
	start(t, cmd)
	return cmd.Process.Pid
}

// However a server waits for its input, it is seen to wait, and the pipes that it has for itself
// are no trouble.
func TestAServerThatSwallowedARequest(t *testing.T) {
	for _, job := range []string{"wait", "epoll", "poll", "select", "node"} {
		t.Run(job, func(t *testing.T) {
			server := ""
			name := filepath.Base(os.Args[0])[:8]
			if job == "node" {
				server = nodeServer(t)
				name = "node swallow.js"
			}
			pid := startClient(t, job, server)
			mustFind(t, pid, inspect.MutualRead,
				"both wait for each other, and nothing is in the pipes: "+fmt.Sprint(pid),
				"("+name, "has read all that was sent; if an answer is due")
			// A look finds nothing if a process runs for a moment. No look finds anything else.
			found := false
			for end := time.Now().Add(deadline); !found; {
				report, err := inspect.Process(pid)
				if err != nil || len(report.Diagnoses) > 1 || time.Now().After(end) {
					t.Fatalf("found %+v, %v; want one", report.Diagnoses, err)
				}
				for _, d := range report.Diagnoses {
					found = true
					if d.Kind != inspect.MutualRead {
						t.Errorf("found %s", d.Sentence)
					}
				}
			}
		})
	}
}

// A server that wrote a part of its answer waits as one that wrote none.
func TestAnAnswerMayNotBeWhole(t *testing.T) {
	script := filepath.Join(t.TempDir(), "half.sh")
	if err := os.WriteFile(script, []byte("read line; printf half; read line"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "expect more")
	cmd.Env = append(cmd.Env, serverVariable+"=sh "+script)
	start(t, cmd)
	mustFind(t, cmd.Process.Pid, inspect.MutualRead, "(sh half.sh)",
		"one side waits for the rest of one (wrong length, no end of line)")
}

// A process that waits for no other one may sleep.
func TestAProcessThatSleepsIsSeenTo(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	start(t, cmd)
	var threads []inspect.Thread
	for end := time.Now().Add(deadline); time.Now().Before(end); time.Sleep(time.Millisecond) {
		report, err := inspect.Process(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		threads = report.Processes[0].Threads
		if len(threads) == 1 && threads[0].In == "nanosleep" {
			return
		}
	}
	t.Fatalf("waits in %+v", threads)
}

func TestARelayIsSeenThrough(t *testing.T) {
	pid := startClient(t, "relay>relay>epoll", "")
	name := filepath.Base(os.Args[0])[:8]
	mustFind(t, pid, inspect.MutualRead, fmt.Sprint(pid), " (through "+name, ", "+name)
}

// Of a server behind tap, the same is said as of its client.
func TestTheClientOfAServerBehindTapIsNamed(t *testing.T) {
	client := startClient(t, "tap>epoll", "")
	mustFind(t, client, inspect.MutualRead)
	report, err := inspect.Process(client)
	if err != nil {
		t.Fatal(err)
	}
	server := report.Processes[len(report.Processes)-1].PID
	mustFind(t, server, inspect.MutualRead,
		fmt.Sprint(client), " waits for ", fmt.Sprint(server), " (through pipebench tap ")
}

// Behind a relay, a server computes. One of its threads reads its input all the same.
func TestAServerThatComputesIsNotWaitedForInVain(t *testing.T) {
	pid := startClient(t, "relay>turn", "")
	var found []inspect.Diagnosis
	for end := time.Now().Add(deadline); time.Now().Before(end); {
		report, err := inspect.Over(t.Context(), pid, 50*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		found = report.Diagnoses // until all have started, perhaps another
		if len(found) == 1 && found[0].Kind == inspect.Spins {
			return
		}
	}
	t.Fatalf("found %+v in %v", found, deadline)
}

func TestAScriptIsNamed(t *testing.T) {
	script := filepath.Join(t.TempDir(), "server.sh")
	if err := os.WriteFile(script, []byte("read line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-e", script)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	awaitRead(t, cmd.Process.Pid)
	report, err := inspect.Process(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	named := func(h inspect.Holder) bool { return h.Command == "sh server.sh" }
	if report.Processes[0].Command != "sh server.sh" ||
		!slices.ContainsFunc(report.Channels, func(c inspect.Channel) bool {
			return slices.ContainsFunc(c.Readers, named)
		}) {
		t.Errorf("report %+v", report)
	}
}
