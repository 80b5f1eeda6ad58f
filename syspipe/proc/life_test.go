package proc_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe/proc"
)

// notBlocked fails the test if f takes longer than any start of a process.
func notBlocked(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s is blocked", what)
	}
}

func TestAProcessThatWasNotStartedSaysSo(t *testing.T) {
	p := proc.Command(os.Args[0])
	defer p.Close()
	notBlocked(t, "Wait", func() {
		if err := p.Wait(); err == nil {
			t.Error("Wait returned no error")
		}
	})
	notBlocked(t, "Stop", func() {
		if p.Stop(time.Hour, time.Hour) {
			t.Error("Stop forced an end")
		}
	})
	notBlocked(t, "Ended", func() {
		if p.Ended(time.Hour) {
			t.Error("it has ended")
		}
	})
	if p.Interrupt() || p.Terminate() {
		t.Error("a signal was sent")
	}
	p.Kill()
	if code := p.ExitCode(); code != -1 {
		t.Errorf("exit code %d, want -1", code)
	}
	_, cpu := p.CPU()
	_, tree := p.TreeCPU()
	_, peak := p.PeakMemory()
	_, addresses := p.PeakAddresses()
	_, resident := p.Resident()
	if cpu || tree || peak || addresses || resident || p.Runnable() {
		t.Error("it has used something")
	}
}

func TestAProcessThatRunsHasNoExitCode(t *testing.T) {
	p, _, _ := startProgram(t, t.Context(), "wait", nil)
	if code := p.ExitCode(); code != -1 {
		t.Errorf("exit code %d, want -1", code)
	}
}

func TestAClosedProcessDoesNotStart(t *testing.T) {
	p := proc.Command(os.Args[0])
	p.Close()
	if err := p.Start(t.Context()); err == nil {
		t.Error("it was started")
		p.Kill()
	}
}

func TestAProcessStartsOnce(t *testing.T) {
	p, _, _ := startProgram(t, t.Context(), "wait", nil)
	if err := p.Start(t.Context()); err == nil {
		t.Error("it was started a second time")
	}
	if p.Ended(0) {
		t.Error("the second start ended it")
	}
}

// TestAnyoneMayEndAProcessThatStarts: whoever comes first, none is left.
func TestAnyoneMayEndAProcessThatStarts(t *testing.T) {
	for range 20 {
		p := proc.Command(os.Args[0])
		p.Cmd.Env = append(os.Environ(), programEnv+"=wait")
		stdout, err := p.Pipe(1)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for _, f := range []func(){
			func() { p.Start(context.Background()) },
			func() { p.Interrupt() },
			func() { p.Kill() },
			func() { p.ExitCode() },
			func() { p.CPU() },
			p.Close,
		} {
			all.Go(f)
		}
		notBlocked(t, "Start or Close", all.Wait)
		p.Close()
		stdout.Close()
		if err := p.Start(context.Background()); err == nil {
			t.Fatal("it was started after Close")
		}
		select {
		case <-p.Done():
		default:
			if p.Done() != nil {
				t.Fatal("Close has returned, and the process runs")
			}
		}
	}
}

// adoption is what the work "adopt" found.
type adoption struct {
	Known, Again bool
	Left, Still  []string
}

// adopt starts a program that leaves another one behind, in a session and with an environment of
// its own, and reports what it found of that.
func adopt(w *proc.Work) error {
	var a adoption
	if !proc.Adopt() {
		return w.Report(a)
	}
	p := proc.Command("sh", "-c", "(setsid env -i sleep 1000 &); exit 0")
	defer p.Close()
	p.Attached = true                          // else it may be killed before it has a session of its own
	bystander := proc.Command("sleep", "1000") // which is ours
	defer bystander.Close()
	for _, p := range []*proc.Process{bystander, p} {
		if err := p.Start(context.Background()); err != nil {
			return err
		}
	}
	<-p.Done()
	a.Left, a.Known = proc.EndAdopted(0)
	a.Still, a.Again = proc.EndAdopted(patience)
	if bystander.Ended(0) {
		a.Still = append(a.Still, "the bystander has ended")
	}
	return w.Report(a)
}

func TestADaemonDoesNotEscape(t *testing.T) {
	p := start(t, "adopt", nil)
	var a adoption
	if err := p.Report(&a); err != nil {
		t.Fatal(err)
	}
	if !proc.TellsOfOthers {
		if a.Known {
			t.Error("knows what the system does not tell")
		}
		t.Skip("this system does not tell")
	}
	if !a.Known || len(a.Left) != 1 || !strings.Contains(a.Left[0], "(s") {
		t.Errorf("found %q, %v; want one sleep, perhaps as it is started", a.Left, a.Known)
	}
	if !a.Again || len(a.Still) != 0 {
		t.Errorf("still found %q, %v", a.Still, a.Again)
	}
}
