package proc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/leaktest"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// patience is how long anything may take before a test gives up on it.
const patience = 20 * time.Second

// works is what this binary does as a worker.
var works = map[string]proc.Job{
	"greet": func(w *proc.Work) error {
		var name string
		if err := w.Args(&name); err != nil {
			return err
		}
		fmt.Println("on standard output")
		return w.Report("hello, " + name)
	},
	"echo": func(w *proc.Work) error {
		p := make([]byte, 100)
		n, err := w.Ends[0].Read(p)
		if err != nil {
			return err
		}
		_, err = w.Ends[1].Write(p[:n])
		return err
	},
	"linger": func(w *proc.Work) error {
		if err := w.Report("here"); err != nil {
			return err
		}
		select {}
	},
	"adopt":  adopt,
	"double": double,
	"fail":   func(*proc.Work) error { return errors.New("out of ideas") },
	"parent": func(w *proc.Work) error { // starts one of each, which hold its standard output
		worker, err := proc.Self("linger", nil)
		if err != nil {
			return err
		}
		command := proc.Command(os.Args[0])
		command.Cmd.Env = append(os.Environ(), programEnv+"=wait")
		for _, p := range []*proc.Process{worker, command} {
			p.Cmd.Stdout = os.Stdout
			if err := p.Start(context.Background()); err != nil {
				return err
			}
		}
		if err := w.Report("both run"); err != nil {
			return err
		}
		select {}
	},
}

// programEnv makes this binary a program of its value's kind, which knows nothing of work.
const programEnv = "PROC_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if kind, ok := os.LookupEnv(programEnv); ok {
		program(kind)
		os.Exit(0)
	}
	proc.Main(works)
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else a child takes a second to exit under -race
	os.Exit(m.Run())
}

// program is a program of others. Each says on standard output when it is ready.
func program(kind string) {
	name, rest, _ := strings.Cut(kind, " ")
	signals := make(chan os.Signal, 1)
	switch name {
	case "cat":
		fmt.Println("ready")
		io.Copy(os.Stdout, os.Stdin)
	case "deaf": // to everything but SIGKILL
		signal.Ignore(os.Interrupt, syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "wait":
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "tidy": // up, when interrupted
		signal.Notify(signals, os.Interrupt)
		fmt.Println("ready")
		<-signals
		os.Exit(3)
	case "spin":
		fmt.Println("ready")
		for {
			runtime.Gosched()
		}
	case "lingers": // computes for a while, and ends
		fmt.Println("ready")
		for begun := time.Now(); time.Since(begun) < 1200*time.Millisecond; {
			runtime.Gosched()
		}
	case "parent": // of a program of another kind
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), programEnv+"="+rest)
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		io.Copy(io.Discard, os.Stdin)
	case "leave": // a program of another kind behind
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), programEnv+"="+rest)
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	case "chatter":
		os.Stderr.WriteString(strings.Repeat("so it goes\n", 1000) + "the end\n")
		os.Exit(1)
	}
}

// start starts named work that is closed with the test.
func start(t *testing.T, name string, args any, ends ...*syspipe.End) *proc.Process {
	t.Helper()
	defer proc.CloseAll(ends)
	p, err := proc.Self(name, args, ends...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// startProgram starts a program that is closed with the test, and returns it and its standard
// streams when it is ready.
func startProgram(t *testing.T, ctx context.Context, kind string, set func(*proc.Process)) (p *proc.Process, stdin, stdout *os.File) {
	t.Helper()
	p = proc.Command(os.Args[0])
	p.Cmd.Env = append(os.Environ(), programEnv+"="+kind)
	if set != nil {
		set(p)
	}
	stdin, err := p.Pipe(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	if stdout, err = p.Pipe(1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdout.Close() })
	t.Cleanup(p.Close)
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(stdout, ready); err != nil || string(ready) != "ready\n" {
		t.Fatalf("%s said %q, %v", kind, ready, err)
	}
	return p, stdin, stdout
}

// nobodyHolds waits until no process has the other end of a pipe any more.
func nobodyHolds(t *testing.T, stdout *os.File) {
	t.Helper()
	if err := stdout.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Log(err) // a pipe of Windows has none
	}
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		t.Errorf("somebody lives on: %v", err)
	}
}

func pipe(t *testing.T) (w, r *syspipe.End) {
	t.Helper()
	w, r, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{IO: syspipe.Blocking})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(); r.Close() })
	return w, r
}

func heard(t *testing.T, p *proc.Process, want string) {
	t.Helper()
	var got string
	if err := p.Report(&got); err != nil || got != want {
		t.Fatalf("report %q, %v; want %q", got, err, want)
	}
}

func TestWorkReportsAndLeavesItsStreamsAlone(t *testing.T) {
	p, err := proc.Self("greet", "world")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var out strings.Builder
	p.Cmd.Stdout = &out
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	heard(t, p, "hello, world")
	var more string
	if err := p.Report(&more); !errors.Is(err, io.EOF) {
		t.Errorf("after the last report: %v", err)
	}
	if err := p.Wait(); err != nil || out.String() != "on standard output\n" {
		t.Errorf("exit %v, output %q", err, out.String())
	}
}

func TestAWorkerHasItsEnds(t *testing.T) {
	w, in := pipe(t)
	out, r := pipe(t)
	start(t, "echo", nil, in, out)
	if _, err := w.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r) // ends only if nobody here holds the worker's ends
	if err != nil || string(got) != "ping" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestEndsStayOpenHere(t *testing.T) {
	w, r := pipe(t)
	p, err := proc.Self("greet", "world", r)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if _, err := w.Write([]byte("still open")); err != nil {
		t.Error(err)
	}
}

func TestAClosedWorkerIsGone(t *testing.T) {
	p := start(t, "linger", nil)
	heard(t, p, "here")
	p.Close()
	p.Close()
	if p.Cmd.ProcessState == nil {
		t.Error("not waited for")
	}
}

func TestFailedWorkIsAnExitCodeAndSaysWhy(t *testing.T) {
	p := start(t, "fail", nil)
	var status *exec.ExitError
	if err := p.Wait(); !errors.As(err, &status) || status.ExitCode() != 1 || !strings.Contains(err.Error(), "fail: out of ideas") {
		t.Errorf("exit %v", err)
	}
}

func TestWorkThatNobodyKnows(t *testing.T) {
	p := start(t, "unheard of", nil)
	var got string
	err := p.Report(&got)
	if err == nil || !strings.Contains(err.Error(), "before it began") ||
		!strings.Contains(err.Error(), "does not know the work") {
		t.Errorf("got %v", err)
	}
	if p.Wait() == nil {
		t.Error("it exited 0")
	}
}

// A program that forgot to call Main runs its main again as its own worker, and that one its own,
// until the machine has no processes left.
func TestAWorkerThatDoesNotWorkStartsNone(t *testing.T) {
	t.Setenv("PIPEBENCH_WORK", `{"name":"unheard of"}`)
	if _, err := proc.Self("linger", nil); err == nil ||
		!strings.Contains(err.Error(), "call proc.Main first") {
		t.Errorf("got %v", err)
	}
}

func TestAWorkerThatCannotStartLeavesNothing(t *testing.T) {
	leaktest.Check(t)
	p, err := proc.Self("linger", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Cmd.Path = "/nonexistent"
	if err := p.Start(t.Context()); err == nil {
		t.Error("started")
	}
}

func TestAKilledParentLeavesNobody(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("elsewhere a program is not told that its parent is gone")
	}
	p, err := proc.Self("parent", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	stdout, err := p.Pipe(1)
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	heard(t, p, "both run")
	if err := p.Cmd.Process.Kill(); err != nil { // it alone: its group would be easy
		t.Fatal(err)
	}
	nobodyHolds(t, stdout)
}

func TestKillEndsGrandchildren(t *testing.T) {
	p, _, stdout := startProgram(t, t.Context(), "parent deaf", nil)
	p.Kill()
	nobodyHolds(t, stdout)
}

func TestWhatIsLeftBehindEndsToo(t *testing.T) {
	p, stdin, stdout := startProgram(t, t.Context(), "parent deaf", nil)
	stdin.Close()
	if p.Stop(patience, patience) {
		t.Error("the parent had to be forced")
	}
	nobodyHolds(t, stdout)
}

func TestWhatAnAttachedProcessLeavesBehindGoesOn(t *testing.T) {
	p, stdin, stdout := startProgram(t, t.Context(), "leave cat", func(p *proc.Process) { p.Attached = true })
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	answer := make([]byte, 1)
	if _, err := stdin.Write([]byte("?")); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(stdout, answer); err != nil {
		t.Errorf("what it left has ended: %v", err)
	}
	stdin.Close()
	nobodyHolds(t, stdout)
}

func TestStopTakesStepsUntilTheProcessIsGone(t *testing.T) {
	for _, test := range []struct {
		kind   string
		forced bool
		code   int
	}{
		{"cat", false, 0},
		{"wait", true, 128 + int(syscall.SIGTERM)},
		{"deaf", true, 128 + int(syscall.SIGKILL)},
	} {
		t.Run(test.kind, func(t *testing.T) {
			p, stdin, _ := startProgram(t, t.Context(), test.kind, nil)
			stdin.Close()
			delay := time.Millisecond
			if !test.forced {
				delay = patience
			}
			if test.kind == "wait" {
				if forced := p.Stop(delay, patience); !forced {
					t.Error("it ended unasked")
				}
			} else if forced := p.Stop(delay, delay); forced != test.forced {
				t.Errorf("forced: %v", forced)
			}
			if code := p.ExitCode(); runtime.GOOS != "windows" && code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
		})
	}
}

func TestAContextEndsTheProcess(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, _, stdout := startProgram(t, ctx, "parent deaf", nil)
	cancel()
	nobodyHolds(t, stdout)
	if p.Wait() == nil {
		t.Error("it exited 0")
	}
	if err := proc.Command(os.Args[0]).Start(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

func TestAContextInterruptsFirstWhereThereIsGrace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a console")
	}
	ctx, cancel := context.WithCancel(t.Context())
	p, _, _ := startProgram(t, ctx, "tidy", func(p *proc.Process) { p.Grace = patience })
	cancel()
	var status *exec.ExitError
	if err := p.Wait(); !errors.As(err, &status) || status.ExitCode() != 3 {
		t.Errorf("exit %v, want its own code", err)
	}
}

func TestTheEndOfStandardErrorIsKept(t *testing.T) {
	p := proc.Command(os.Args[0])
	p.Cmd.Env = append(os.Environ(), programEnv+"=chatter")
	p.Stderr().Limit = 30
	defer p.Close()
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := p.Wait()
	if got := p.Stderr().String(); got != "so it goes\nso it goes\nthe end" || !strings.HasSuffix(err.Error(), got) {
		t.Errorf("kept %q, error %v", got, err)
	}
	if n := p.Stderr().Total(); n != 11_008 {
		t.Errorf("counted %d bytes", n)
	}
}

func TestATailKeepsItsLimitHoweverItIsWritten(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 1000)
	for _, step := range []int{1, 7, 4096, 5000, len(text)} {
		var tail proc.Tail
		for rest := text; rest != ""; rest = rest[min(step, len(rest)):] {
			if n, err := tail.Write([]byte(rest[:min(step, len(rest))])); err != nil || n != min(step, len(rest)) {
				t.Fatal(n, err)
			}
		}
		if tail.String() != text[len(text)-4096:] || tail.Total() != int64(len(text)) {
			t.Errorf("by %d: kept %d bytes of %d", step, len(tail.String()), tail.Total())
		}
	}
}

func TestUsageIsOfTheProcess(t *testing.T) {
	p, _, _ := startProgram(t, t.Context(), "spin", nil)
	if first, known := p.CPU(); known {
		for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			if now, _ := p.CPU(); now > first+10*time.Millisecond {
				break
			}
			if time.Now().After(end) {
				t.Fatal("it uses no time")
			}
		}
	}
	before, known := p.PeakMemory()
	if known && before < 1<<20 {
		t.Errorf("%d bytes are no Go program", before)
	}
	p.Close()
	if cpu, known := p.CPU(); !known || cpu <= 0 && runtime.GOOS != "windows" {
		t.Errorf("used %v, %v", cpu, known)
	}
	if after, _ := p.PeakMemory(); after < before {
		t.Errorf("the peak went from %d to %d", before, after)
	}
}

// On a busy machine a process takes long to end. While it runs, it gets more time.
func TestAProcessThatRunsGetsMoreTimeToEnd(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not told")
	}
	mark := fmt.Sprintf("PROC_TEST_LINGERS=%d", os.Getpid())
	for _, row := range []struct {
		kind string
		left int
		time time.Duration
	}{
		{"lingers", 0, time.Second}, // shorter than it computes; four times as long is enough
		{"wait", 1, 200 * time.Millisecond},
		{"spin", 1, 200 * time.Millisecond},
	} {
		startProgram(t, t.Context(), row.kind, func(p *proc.Process) {
			p.Cmd.Env = append(p.Cmd.Env, mark)
		})
		if left, _ := proc.EndMarked(mark, row.time); len(left) != row.left {
			t.Errorf("%s: %v are left, want %d", row.kind, left, row.left)
		}
	}
}

func TestAProcessThatWorksIsRunnableAndOneThatWaitsIsNot(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not told")
	}
	for kind, want := range map[string]bool{"spin": true, "wait": false} {
		p, _, _ := startProgram(t, t.Context(), kind, nil)
		for end := time.Now().Add(patience); p.Runnable() != want; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("%s: runnable %v", kind, !want)
				break
			}
		}
	}
}

func TestOutputWrittenJustBeforeTheEndIsThere(t *testing.T) {
	p := proc.Command(os.Args[0])
	p.Cmd.Env = append(os.Environ(), programEnv+"=chatter")
	stderr, err := p.Pipe(2)
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	defer p.Close()
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if all, err := io.ReadAll(stderr); err != nil || !bytes.HasSuffix(all, []byte("the end\n")) {
		t.Errorf("%d bytes, %v", len(all), err)
	}
}

func TestWhatAProcessStartedIsInTheTimeOfItsTree(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not told")
	}
	p := proc.Command("sh", "-c", `sh -c 'while :; do :; done'; true`)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		own, _ := p.CPU()
		if all, known := p.TreeCPU(); known && all > own+10*time.Millisecond {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the child's work does not count")
		}
	}
}

// One that moves to a session of its own, and whose parent is gone, has left its group and its
// tree.
func TestWhatIsMarkedIsFoundWhereverItWent(t *testing.T) {
	if runtime.GOOS != "linux" {
		if _, known := proc.EndMarked("PROC_TEST_MARK=1", 0); known {
			t.Error("knows what the system does not tell")
		}
		t.Skip("not told")
	}
	mark := fmt.Sprintf("PROC_TEST_MARK=%s-%d", t.Name(), os.Getpid()) // others may test at the same time
	p := proc.Command("sh", "-c", "setsid sleep 1000 & exit 0")
	p.Cmd.Env = append(os.Environ(), mark)
	p.Attached = true
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if left, known := proc.EndMarked(mark, 0); len(left) != 1 || !strings.HasSuffix(left[0], "p)") || !known {
		t.Errorf("found %v, %v", left, known)
	}
	if left, _ := proc.EndMarked(mark, patience); len(left) != 0 {
		t.Errorf("still found %v", left)
	}
}

func TestWhetherADescriptorIsNonBlockingIsKnown(t *testing.T) {
	if !proc.TellsOfOthers {
		t.Skip("this system does not tell")
	}
	for _, want := range []bool{false, true} {
		p := proc.Command("sleep", "60")
		defer p.Close()
		out, err := p.Connect(1, syspipe.Anonymous, 0, want)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := proc.NonBlocking(p.Cmd.Process.Pid, 1); got != want {
			t.Errorf("non-blocking: %t, want %t", got, want)
		}
	}
}
