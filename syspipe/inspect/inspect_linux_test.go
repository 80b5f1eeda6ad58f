package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe/inspect"
	"github.com/pipebench/pipebench/syspipe/leaktest"
	"golang.org/x/sys/unix"
)

const (
	jobVariable  = "INSPECT_TEST_CHILD"
	fifoVariable = "INSPECT_TEST_FIFO"
	muchData     = 8 << 20 // more than a pipe or a socket pair holds by default, with pages of any size
	deadline     = 2 * time.Minute
)

// jobs is what this binary does as a child of a test.
var jobs = map[string]func() error{
	"write":  func() error { return writeMuch(os.Stdout) },
	"moan":   func() error { return writeMuch(os.Stderr) },
	"wait":   func() error { _, err := io.Copy(io.Discard, os.Stdin); return err },
	"self":   waitForItself,
	"guard":  guardMoaner,
	"client": func() error { return readChild("parent") },
	"parent": leaveChild,
	"open":   func() error { _, err := os.Open(os.Getenv(fifoVariable)); return err },
	"ask":    askInVain,
	"lock":   lockInVain,
	"turn": func() error {
		go func() { io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
		runtime.LockOSThread()      // else Go moves the work to another thread, and each rests
		for turns := 0; ; turns++ { // a CPU kept busy
			if turns < 0 {
				return nil
			}
		}
	},
	"pid 1": func() error { return refusedTo(1) },
}

func TestMain(m *testing.M) {
	if job := os.Getenv(jobVariable); job != "" {
		if err := jobs[job](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	for fd := 3; fd < 1024; fd++ {
		syscall.CloseOnExec(fd) // what whoever runs the tests left open is none of the children's pipes
	}
	os.Exit(m.Run())
}

// A thread that is locked in an init function is the main thread.
func init() {
	if os.Getenv(jobVariable) == "lock" {
		runtime.LockOSThread()
	}
}

// lockInVain waits for a lock that the test has, while another thread reads.
func lockInVain() error {
	f, err := os.Open(os.Getenv(fifoVariable))
	if err != nil {
		return err
	}
	go syscall.Read(0, make([]byte, 1))
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
}

// writeMuch writes and only then looks at its input, which is how a deadlock is made.
func writeMuch(f *os.File) error {
	if _, err := f.Write(make([]byte, muchData)); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// waitForItself reads a pipe of which it holds the writing end, and so never sees the end.
func waitForItself() error {
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		return err
	}
	go func() { io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
	_, err := syscall.Read(fds[0], make([]byte, 1))
	return err
}

// guardMoaner runs a child whose stderr it does not read, as a user without privilege, and inspects
// it.
func guardMoaner() error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), jobVariable+"=moan")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = find(cmd.Process.Pid, inspect.Undrained)
	stdin.Close()
	io.Copy(io.Discard, stderr)
	return errors.Join(err, cmd.Wait())
}

func refusedTo(pid int) error {
	_, err := inspect.Process(pid)
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "another user") {
		return fmt.Errorf("inspect process %d of another user: %v", pid, err)
	}
	return nil
}

// readChild reads the output of a child to its end; the child has our standard input.
func readChild(job string) error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), jobVariable+"="+job)
	cmd.Stdin = os.Stdin
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, out)
	return errors.Join(err, cmd.Wait())
}

// leaveChild ends before a child that has its standard output.
func leaveChild() error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), jobVariable+"=wait")
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	return cmd.Start()
}

// askInVain reads a non-blocking pipe that is empty, again and again.
func askInVain() error {
	if err := syscall.SetNonblock(0, true); err != nil {
		return err
	}
	for {
		if n, err := syscall.Read(0, make([]byte, 1)); n == 0 && err == nil {
			return nil
		}
	}
}

// find inspects a process until it shows the trouble and says so.
func find(pid int, want inspect.Problem, says ...string) (inspect.Diagnosis, error) {
	var last *inspect.Report
	for end := time.Now().Add(deadline); time.Now().Before(end); time.Sleep(time.Millisecond) {
		report, err := inspect.Process(pid)
		if want == inspect.Spins {
			report, err = inspect.Over(context.Background(), pid, 50*time.Millisecond)
		}
		if err != nil {
			return inspect.Diagnosis{}, err
		}
		for _, d := range report.Diagnoses {
			misses := func(s string) bool { return !strings.Contains(d.Sentence, s) }
			if d.Kind == want && !slices.ContainsFunc(says, misses) {
				return d, nil
			}
		}
		last = report
	}
	return inspect.Diagnosis{}, fmt.Errorf("no %s that says %q in %v; the last report was %+v", want, says, deadline, last)
}

func child(t *testing.T, job string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), jobVariable+"="+job, "GORACE=atexit_sleep_ms=0") // else a child takes a second to exit under -race
	return cmd
}

// start starts a process and ends it after the test. If the test fails, it tells what became of the
// process, and what it wrote to its stderr: a file, which is no channel that inspect would show.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	complaints := ""
	if cmd.Stderr == nil {
		f, err := os.CreateTemp(t.TempDir(), "stderr")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		complaints = f.Name()
		cmd.Stderr = f
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(complaints) // none if the test reads stderr itself
			t.Logf("process %d: %v; its stderr: %q", cmd.Process.Pid, cmd.ProcessState, text)
		}
	})
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func mustFind(t *testing.T, pid int, want inspect.Problem, says ...string) {
	t.Helper()
	d, err := find(pid, want, says...)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(d.Sentence)
}

func TestPlantedDeadlock(t *testing.T) {
	for name, connect := range map[string]func(*testing.T, *exec.Cmd, *exec.Cmd){"pipes": connectByPipes, "socket pair": connectBySockets} {
		t.Run(name, func(t *testing.T) {
			a, b := child(t, "write"), child(t, "write")
			connect(t, a, b)
			mustFind(t, a.Process.Pid, inspect.MutualWrite, "both sides are writing and neither reads",
				fmt.Sprint(a.Process.Pid), fmt.Sprint(b.Process.Pid))
		})
	}
}

func connectByPipes(t *testing.T, a, b *exec.Cmd) {
	fromA, toB := pipe(t)
	fromB, toA := pipe(t)
	a.Stdin, a.Stdout = fromB, toB
	b.Stdin, b.Stdout = fromA, toA
	start(t, a)
	start(t, b)
	for _, f := range []*os.File{fromA, toB, fromB, toA} {
		f.Close()
	}
}

func connectBySockets(t *testing.T, a, b *exec.Cmd) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, cmd := range []*exec.Cmd{a, b} {
		if err := unix.SetsockoptInt(fds[i], unix.SOL_SOCKET, unix.SO_SNDBUF, 16<<10); err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fds[i]), "socket")
		cmd.Stdin, cmd.Stdout = f, f
		start(t, cmd)
		f.Close()
	}
}

func TestFullStderr(t *testing.T) {
	cmd := child(t, "moan")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w := pipe(t)
	cmd.Stderr = w
	start(t, cmd)
	w.Close()
	mustFind(t, cmd.Process.Pid, inspect.Undrained, "stderr is full and nobody reads it", " bytes)")

	stdin.Close() // and it must have come to no harm
	n, err := io.Copy(io.Discard, r)
	if n != muchData || err != nil {
		t.Errorf("read %d bytes, %v; want all %d", n, err, muchData)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestDeadPeer(t *testing.T) {
	r, w := pipe(t)
	peer := child(t, "wait")
	peer.Stdin = r
	if err := peer.Start(); err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "wait")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	start(t, cmd)
	w.Close()
	r.Close()
	report, err := inspect.Process(cmd.Process.Pid)
	if err != nil || len(report.Diagnoses) > 0 {
		t.Errorf("while the peer lives: %+v, %v", report, err)
	}
	peer.Process.Kill()
	peer.Wait()
	mustFind(t, cmd.Process.Pid, inspect.PeerLeft, "nobody can read the stdout of")
}

func TestWaitsForItself(t *testing.T) {
	cmd := child(t, "self")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	mustFind(t, cmd.Process.Pid, inspect.SelfHeld, "cannot come")
}

// Each of these is a program that has one thing wrong.
func TestProgramsThatHang(t *testing.T) {
	for _, row := range []struct {
		job  string
		want inspect.Problem
		says []string
	}{
		{"client", inspect.HeldOpen,
			[]string{"has inherited the writing end as its stdout", "sees no end of file"}},
		{"ask", inspect.Spins, []string{"moved 0 bytes in ", "it computes, or it spins"}},
		{"turn", inspect.Spins, []string{"it computes, or it spins"}},
	} {
		t.Run(row.job+" "+string(row.want), func(t *testing.T) {
			cmd := child(t, row.job)
			if _, err := cmd.StdinPipe(); err != nil {
				t.Fatal(err)
			}
			start(t, cmd)
			mustFind(t, cmd.Process.Pid, row.want, row.says...)
		})
	}
}

// A helper that a server starts and does not wait for has the server's output.
func TestHelperSharesOutput(t *testing.T) {
	server := exec.CommandContext(t.Context(), "sh", "-c", "sleep 60 & exec 3<&0; exec cat <&3")
	if _, err := server.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	r, w := pipe(t)
	server.Stdout, server.SysProcAttr = w, &syscall.SysProcAttr{Setpgid: true}
	start(t, server)
	t.Cleanup(func() { syscall.Kill(-server.Process.Pid, syscall.SIGKILL) })
	w.Close()
	reader := child(t, "wait")
	reader.Stdin = r
	start(t, reader)
	r.Close()
	mustFind(t, server.Process.Pid, inspect.HeldOpen,
		"(sleep) has inherited the writing end as its stdout",
		": until it closes that too, "+fmt.Sprint(reader.Process.Pid))
}

func TestTwoReaders(t *testing.T) {
	r, _ := pipe(t)
	a, b := child(t, "wait"), child(t, "wait")
	for _, cmd := range []*exec.Cmd{a, b} {
		cmd.Stdin = r
		start(t, cmd)
	}
	mustFind(t, a.Process.Pid, inspect.TwoReaders, "each byte goes either to", fmt.Sprint(b.Process.Pid))
}

// awaitRead returns when a process sleeps in a read of its standard input: it has started up.
func awaitRead(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(deadline); time.Now().Before(end); time.Sleep(time.Millisecond) {
		report, err := inspect.Process(pid)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range report.Channels {
			if slices.ContainsFunc(c.Readers, func(h inspect.Holder) bool { return h.PID == pid && h.FD == 0 && h.Waits }) {
				return
			}
		}
	}
	t.Fatalf("process %d is not seen in a read of its standard input in %v", pid, deadline)
}

// TestHealthy finds a child that waits for work, sees the bytes queued for it, and nothing wrong.
func TestHealthy(t *testing.T) {
	cmd := child(t, "wait")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	r, w := pipe(t)
	cmd.ExtraFiles = []*os.File{r}
	start(t, cmd)
	if _, err := w.Write(make([]byte, 1234)); err != nil {
		t.Fatal(err)
	}
	awaitRead(t, cmd.Process.Pid)
	report, err := inspect.Over(t.Context(), cmd.Process.Pid, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Diagnoses) > 0 || report.Processes[0].Recent == nil {
		t.Errorf("report %+v", report)
	}
	queued := -1
	for _, c := range report.Channels {
		if len(c.Readers) > 0 && c.Queued == 1234 {
			queued = c.Queued
			if c.Kind != "anonymous" || c.Capacity <= 0 || c.Full || len(c.Writers) == 0 || c.Writers[0].PID != os.Getpid() {
				t.Errorf("channel %+v", c)
			}
		}
	}
	if queued < 0 {
		t.Errorf("no channel with the 1234 bytes in %+v", report.Channels)
	}
}

// The main thread is shown, also if it waits for no descriptor as another thread does.
func TestTheMainThreadIsShown(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "lock")
	cmd.Env = append(cmd.Env, fifoVariable+"="+f.Name())
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	awaitRead(t, cmd.Process.Pid)
	var threads []inspect.Thread
	for end := time.Now().Add(deadline); time.Now().Before(end); {
		report, err := inspect.Process(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		threads = report.Processes[0].Threads
		if len(threads) > 1 && threads[0].TID == cmd.Process.Pid && threads[0].In == "flock" {
			return
		}
	}
	t.Fatalf("waits in %+v", threads)
}

// The helper threads of Node are idle: its main thread says what it waits for.
func TestTheMainThreadOfNodeCounts(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	const forEver = "process.stdin.once('data', () => " +
		"Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))"
	cmd := exec.Command(node, "-e", forEver)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	awaitRead(t, cmd.Process.Pid)
	for _, want := range []string{"poll", "futex"} {
		var p inspect.Proc
		for end := time.Now().Add(deadline); time.Now().Before(end); {
			report, err := inspect.Process(cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			p = report.Processes[0]
			if len(p.Threads) == 1 && p.Threads[0].In == want {
				break
			}
		}
		if len(p.Threads) != 1 || p.Threads[0].In != want {
			t.Errorf("want %s: %+v", want, p.Threads)
		}
		if _, err := in.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
}

// A pipe of others, which a process only inherited, is not held against it.
func TestAnInheritedPipeExplainsNothing(t *testing.T) {
	r, w := pipe(t)
	reader := child(t, "wait")
	reader.Stdin = r
	start(t, reader)
	cmd := child(t, "wait")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{w}
	start(t, cmd)
	awaitRead(t, reader.Process.Pid)
	awaitRead(t, cmd.Process.Pid)
	report, err := inspect.Process(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Diagnoses) > 0 {
		t.Errorf("diagnoses %+v", report.Diagnoses)
	}
	third := func(c inspect.Channel) bool {
		return slices.ContainsFunc(c.Writers, func(h inspect.Holder) bool {
			return h.PID == cmd.Process.Pid && h.FD == 3
		})
	}
	if !slices.ContainsFunc(report.Inherited, third) ||
		slices.ContainsFunc(report.Channels, third) {
		t.Errorf("channels %+v, inherited %+v", report.Channels, report.Inherited)
	}
}

func TestGone(t *testing.T) {
	cmd := child(t, "wait")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for name, pid := range map[string]int{"ended": cmd.Process.Pid, "never was": 1 << 30} {
		if _, err := inspect.Process(pid); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v, want one that wraps fs.ErrNotExist", name, err)
		}
	}
	if _, err := inspect.Process(-1); err == nil {
		t.Error("no error for -1")
	}
}

func TestUnprivileged(t *testing.T) {
	for _, job := range []string{"guard", "pid 1"} {
		t.Run(job, func(t *testing.T) {
			cmd := child(t, job)
			asNobody(t, cmd)
			said, err := cmd.CombinedOutput()
			if errors.Is(err, fs.ErrPermission) {
				t.Skip("another user cannot reach the folder for temporary files")
			}
			if err != nil {
				t.Errorf("%v: %s", err, said)
			}
		})
	}
}

// asNobody makes the child run as a user who has no privilege, with a copy of this binary that it
// may read.
func asNobody(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if os.Getuid() != 0 {
		return // no privilege to give up
	}
	text, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "inspect-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd.Path = filepath.Join(dir, "child")
	cmd.Args[0] = cmd.Path
	cmd.Dir = "/"
	if err := os.WriteFile(cmd.Path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

func TestNothingIsLeft(t *testing.T) {
	leaktest.Check(t)
	if _, err := inspect.Process(os.Getpid()); err != nil {
		t.Fatal(err)
	}
}

// A reader that is stopped takes nothing, whatever call it was in.
func TestAStoppedReader(t *testing.T) {
	r, w := pipe(t)
	reader := child(t, "wait")
	reader.Stdin = r
	start(t, reader)
	awaitRead(t, reader.Process.Pid)
	if err := reader.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	writer := child(t, "write")
	writer.Stdout = w
	if _, err := writer.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	start(t, writer)
	w.Close()
	r.Close()
	mustFind(t, reader.Process.Pid, inspect.Stopped, "is stopped", "kill -CONT")
	mustFind(t, writer.Process.Pid, inspect.Undrained, "stdout is full",
		fmt.Sprintf("%d (", reader.Process.Pid), "which is stopped, does not read")
}

func TestAWaitForAFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nobody-writes")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "open")
	cmd.Env = append(cmd.Env, fifoVariable+"="+path)
	start(t, cmd)
	mustFind(t, cmd.Process.Pid, inspect.OpensFIFO, "waits in open", "nobody-writes")
}

func TestTheAwaitedChildIsNamed(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sleep 1000; true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	start(t, cmd)
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	for end := time.Now().Add(deadline); time.Now().Before(end); time.Sleep(time.Millisecond) {
		report, err := inspect.Process(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Processes) != 2 {
			continue
		}
		for _, thread := range report.Processes[0].Threads {
			if thread.In == "wait" && thread.Child == report.Processes[1].PID {
				return
			}
		}
	}
	t.Fatalf("the child that %d waits for is not seen in %v", cmd.Process.Pid, deadline)
}

// TestAThreadOfTheKernelMakesNoCalls looks at all that there are, none in a container.
func TestAThreadOfTheKernelMakesNoCalls(t *testing.T) {
	const kthreadd = 2
	name, err := os.ReadFile("/proc/2/comm")
	if err != nil || string(name) != "kthreadd\n" {
		t.Skip("the threads of the kernel are not seen here")
	}
	report, err := inspect.Process(kthreadd)
	if err != nil {
		t.Skip(err)
	}
	for _, p := range report.Processes {
		if len(p.Threads) > 0 {
			t.Errorf("%d (%s) waits in %+v", p.PID, p.Command, p.Threads)
		}
	}
}
