package inspect_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe/inspect"
	"github.com/pipebench/pipebench/syspipe/leaktest"
	"golang.org/x/sys/unix"
)

const (
	jobVariable = "INSPECT_TEST_CHILD"
	muchData    = 8 << 20 // more than a pipe or a socket pair holds by default, with pages of any size
	deadline    = 20 * time.Second
)

// jobs is what this binary does as a child of a test.
var jobs = map[string]func() error{
	"write": func() error { return writeMuch(os.Stdout) },
	"moan":  func() error { return writeMuch(os.Stderr) },
	"wait":  func() error { _, err := io.Copy(io.Discard, os.Stdin); return err },
	"self":  waitForItself,
	"guard": guardMoaner,
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

// find inspects a process until it shows the trouble.
func find(pid int, want inspect.Problem) (inspect.Diagnosis, error) {
	var last *inspect.Report
	for end := time.Now().Add(deadline); time.Now().Before(end); time.Sleep(time.Millisecond) {
		report, err := inspect.Process(pid)
		if err != nil {
			return inspect.Diagnosis{}, err
		}
		for _, d := range report.Diagnoses {
			if d.Kind == want {
				return d, nil
			}
		}
		last = report
	}
	return inspect.Diagnosis{}, fmt.Errorf("no %s in %v; the last report was %+v", want, deadline, last)
}

func child(t *testing.T, job string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), jobVariable+"="+job, "GORACE=atexit_sleep_ms=0") // else a child takes a second to exit under -race
	return cmd
}

func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
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
	d, err := find(pid, want)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(d.Sentence)
	for _, s := range says {
		if !strings.Contains(d.Sentence, s) {
			t.Errorf("%q does not say %q", d.Sentence, s)
		}
	}
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
	mustFind(t, cmd.Process.Pid, inspect.Undrained, "stderr is full and nobody drains it", " bytes)")

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
	mustFind(t, cmd.Process.Pid, inspect.PeerLeft, "the peer has left: nobody holds the reading end of the stdout")
}

func TestWaitsForItself(t *testing.T) {
	cmd := child(t, "self")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	mustFind(t, cmd.Process.Pid, inspect.SelfHeld, "cannot come")
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
	report, err := inspect.Process(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Diagnoses) > 0 {
		t.Errorf("diagnoses %+v", report.Diagnoses)
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
			if said, err := cmd.CombinedOutput(); err != nil {
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
