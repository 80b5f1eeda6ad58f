package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe/inspect"
)

// stuck starts a child that fills its standard output, which nobody reads, and waits until it hangs
// in that.
func stuck(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("cat", "/dev/zero")
	unread, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); unread.Close(); cmd.Wait() })
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		report, err := inspect.Process(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		full := func(d inspect.Diagnosis) bool { return d.Kind == inspect.Undrained }
		if slices.ContainsFunc(report.Diagnoses, full) { // a descriptor that was inherited has its own
			return cmd
		}
		if time.Now().After(end) {
			t.Fatalf("standard output did not fill: %+v", report)
		}
	}
}

func TestInspectNamesAFullPipe(t *testing.T) {
	pid := strconv.Itoa(stuck(t).Process.Pid)
	for format, want := range map[string]string{
		"table":    "stdout is full and nobody reads it",
		"markdown": "stdout is full and nobody reads it",
		"csv":      ",FULL",
		"json":     `"kind": "undrained"`,
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"inspect", "--format", format, pid}, nil, &stdout, &stderr); code != exitDone {
			t.Errorf("%s: exit %d: %s", format, code, stderr.String())
		}
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%s: no %q in\n%s", format, want, stdout.String())
		}
	}
}

// The answer stands before what it follows from. What explains nothing stands last, and only with
// detail; else it is counted.
func TestInspectBeginsWithTheAnswer(t *testing.T) {
	r := &inspect.Report{
		PID:       1,
		Processes: []inspect.Proc{{PID: 1, Command: "node", Threads: []inspect.Thread{{In: "wait", FD: -1, Child: 2}}}, {PID: 2, Parent: 1, Command: "cat", Stopped: true}},
		Channels: []inspect.Channel{
			{ID: "own", Writers: []inspect.Holder{{PID: 1}}, Readers: []inspect.Holder{{PID: 1}}},
			{ID: "other", Writers: []inspect.Holder{{PID: 1}}, Readers: []inspect.Holder{{PID: 3}}},
			{ID: "full", Writers: []inspect.Holder{{PID: 1}}, Readers: []inspect.Holder{{PID: 2}}},
		},
		Inherited: []inspect.Channel{
			{ID: "tmux", Writers: []inspect.Holder{{PID: 4}}, Readers: []inspect.Holder{{PID: 1}}},
		},
		Diagnoses: []inspect.Diagnosis{{Kind: inspect.Undrained, Sentence: "it is full", Channels: []string{"full"}}},
	}
	for detail, last := range map[bool][]string{
		true: {" own ", " tmux "},
		false: {"left out: 2 channels that one process has to itself, " +
			"or that these processes only"},
	} {
		var text strings.Builder
		err := inspectPage(r, detail).Write(&text, view.FormatTable, view.Options{Width: 100})
		if err != nil {
			t.Fatal(err)
		}
		at := -1
		for _, want := range append([]string{
			"it is full", "1 node: sleeps in wait for 2", "2 cat, started by 1: stopped",
			" full ", " other ",
		}, last...) {
			next := strings.Index(text.String(), want)
			if next <= at {
				t.Fatalf("%q is at %d, after %d, in\n%s", want, next, at, text.String())
			}
			at = next
		}
		if shown := strings.Contains(text.String(), " own "); shown != detail {
			t.Errorf("detail %v: a pipe that a process has to itself: %v", detail, shown)
		}
		if counted := strings.Contains(text.String(), "left out"); counted == detail {
			t.Errorf("detail %v: what is left out is counted: %v", detail, counted)
		}
	}
}

// A process that computes may be what others wait for. So if nothing is found, what each does
// follows.
func TestInspectNamesAProcessThatComputes(t *testing.T) {
	r := &inspect.Report{PID: 1, Look: time.Second, Processes: []inspect.Proc{
		{PID: 1, Command: "editor", Recent: &inspect.Usage{Runnable: time.Millisecond}},
		{PID: 2, Parent: 1, Command: "server", Recent: &inspect.Usage{Runnable: time.Second}},
	}}
	want := []string{
		"no pipe was seen to be stuck (pipebench help inspect says what it looks for); what the " +
			"processes do meanwhile:",
		"1 editor",
		"2 server, started by 1, ran 100 % of the last 1.00 s, read 0 B, wrote 0 B: computes",
		"next: if 2 hangs, look at its stack: py-spy dump --pid 2 (Python), jstack 2 (Java), or " +
			"gdb -p 2 (C)",
	}
	if got := inspectPage(r, false).Answer; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestInspectWritesTheReportAsJSON(t *testing.T) {
	var stdout, stderr bytes.Buffer
	pid := os.Getpid()
	if code := run(t.Context(), []string{"inspect", "--format", "json", strconv.Itoa(pid)}, nil, &stdout, &stderr); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	var report inspect.Report
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil || report.PID != pid {
		t.Errorf("report of %d: %v", report.PID, err)
	}
}

// A process of another user is an error that says what to do.
func TestInspectRefusedByAnotherUsersProcess(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become somebody else")
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	dir, err := os.MkdirTemp("", "pipebench-inspect-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "pipebench")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, self); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "inspect", "1")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), commandEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	said, err := cmd.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("another user cannot reach the folder for temporary files")
	}
	if cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(string(said), "belongs to another user") {
		t.Errorf("%v: %s", err, said)
	}
}

// A server that does not answer is said with what to type next.
func TestInspectSaysWhatToTypeNext(t *testing.T) {
	text := func(r *inspect.Report) string {
		var out strings.Builder
		page := inspectPage(r, false)
		if err := page.Write(&out, view.FormatTable, view.Options{}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	busy := &inspect.Usage{Runnable: watchTime}
	r := &inspect.Report{
		PID:  1,
		Look: watchTime,
		Processes: []inspect.Proc{
			{PID: 1, Command: "client"},
			{PID: 2, Parent: 1, Command: "node server.js"},
			{PID: 3, Parent: 1, Command: "worker", Recent: busy,
				Threads: []inspect.Thread{{In: "poll", FD: -1}}},
		},
		Diagnoses: []inspect.Diagnosis{{Kind: inspect.MutualRead, Sentence: "both wait", PID: 2}},
	}
	found := text(r)
	for _, want := range []string{"both wait", "pipebench drive --messages FILE -- node server.js",
		"let the client start `pipebench tap --bodies -o FILE -- node server.js`",
		"next: look at its stack: py-spy dump --pid 2 (Python), jstack 2 (Java), or gdb -p 2 " +
			"(C). Or let the client",
		"ran 100 % of the last 500 ms, read 0 B", ": computes; its other threads sleep in poll"} {
		if !strings.Contains(found, want) {
			t.Errorf("no %q in\n%s", want, found)
		}
	}
	client := r.Processes[0]
	r.Processes[0] = inspect.Proc{PID: 1, Command: "pipebench tap", Args: []string{
		"pipebench", "tap", "--bodies", "-o", "a b.jsonl", "--", "./launch.sh", "-o", "x"}}
	if found := text(r); strings.Contains(found, "pipebench report") {
		t.Errorf("of a server and its child: the recording of another pair in\n%s", found)
	}
	r.Diagnoses[0].Sentence = "both wait: 1 (pipebench tap) waits for 2 (node server.js)"
	for _, want := range []string{
		". Or end the client: `pipebench report 'a b.jsonl'` names ",
		"`pipebench drive --messages 'a b.jsonl' -- ./launch.sh -o x` sends all of it again",
	} {
		if found := text(r); !strings.Contains(found, want) {
			t.Errorf("behind tap: no %q in\n%s", want, found)
		}
	}
	r.Processes[0] = client
	for kind, next := range map[inspect.Problem]string{
		inspect.Unread:      "next: look at its stack: py-spy dump --pid 2 (Python)",
		inspect.Undrained:   "next: let the reader read it",
		inspect.HeldOpen:    "next: end 2 (kill 2)",
		inspect.PeerLeft:    "`pipebench check --server --only end-idle -- node server.js` tells",
		inspect.MutualWrite: "next: let each side read while it writes",
		inspect.Spins:       "next: look at its stack: py-spy dump --pid 2 (Python)",
		inspect.Pauses:      "next: look at its stack: py-spy dump --pid 2 (Python)",
	} {
		r.Diagnoses[0].Kind = kind
		if found := text(r); !strings.Contains(found, next) {
			t.Errorf("%s: no %q in\n%s", kind, next, found)
		}
	}
	r.Diagnoses[0] = inspect.Diagnosis{Kind: inspect.PeerLeft, Channels: []string{"a", "b"}}
	const ended = "next: if the client started it as `pipebench tap --bodies -o FILE -- " +
		"COMMAND`, `pipebench report FILE` says how it ended; else start it so"
	if found := text(r); !strings.Contains(found, ended) {
		t.Errorf("a server that has ended: no %q in\n%s", ended, found)
	}
	r.Diagnoses[0].PID = 2
	r.Diagnoses[0].Kind = inspect.Pauses
	for program, next := range map[string]string{
		"/usr/bin/python3.12": "next: look at its stack: py-spy dump --pid 2 ",
		"/usr/bin/java":       "next: look at its stack: jstack 2 ",
		"node": "next: look at its stack: node inspect -p 2 (kill -USR1 starts its inspector, " +
			"too), then exec('process.getActiveResourcesInfo()') for what it waits for",
	} {
		r.Processes[1].Args = []string{program, "server"}
		if found := text(r); !strings.Contains(found, next) || strings.Contains(found, "gdb") {
			t.Errorf("%s: no %q alone in\n%s", program, next, found)
		}
	}
	r.Processes[1].Args = []string{"python3", "server"}
	r.Diagnoses[0].PID = 3
	r.Processes[2].Parent = 2
	r.Diagnoses[0].Sentence = "2 (node server.js) waits for its child 3 (worker)"
	const both = "next: look at its stack: py-spy dump --pid 2; if it only starts another " +
		"program, look at its stack: py-spy dump --pid 3 (Python), "
	if found := text(r); !strings.Contains(found, both) {
		t.Errorf("no %q in\n%s", both, found)
	}
	r.Processes[1].PID = os.Getpid()
	r.Processes[1].Args = []string{"./server"}
	r.Diagnoses[0].PID = os.Getpid()
	next := fmt.Sprintf("next: look at its stack: kill -QUIT %d ", os.Getpid())
	if found := text(r); !strings.Contains(found, next) {
		t.Errorf("a Go program: no %q in\n%s", next, found)
	}
}
