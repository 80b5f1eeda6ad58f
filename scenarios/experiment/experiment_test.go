package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/leaktest"
	"github.com/pipebench/pipebench/syspipe/proc"
)

const testWork = "experiment/test"

var all = []Experiment{
	{ID: "test/counts", Title: "count", Do: func(t *Trial) {
		for n := range 3 {
			id := fmt.Sprintf("test/counts/%d", n)
			t.Found(results.Finding{ID: id, Verdict: results.Noted, Value: n, Unit: "B"})
		}
	}},
	{ID: "test/reads", Title: "read what nobody writes", Limit: time.Second, Do: func(t *Trial) {
		t.Found(results.Finding{ID: "test/reads/begins", Verdict: results.Noted, Value: true})
		_, r := t.Open(syspipe.Anonymous)
		_, err := r.Read(make([]byte, 1))
		t.Check(err)
	}},
	{ID: "test/fails", Title: "fail twice", Do: func(t *Trial) {
		t.Check(errors.New("first"))
		t.Check(errors.New("second"))
		t.Found(results.Finding{ID: "test/fails/later", Verdict: results.Noted, Value: true})
	}},
}

func TestMain(m *testing.M) {
	proc.Main(Jobs(testWork, all, nil))
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each worker takes a second to exit under -race
	os.Exit(m.Run())
}

// findingsOf makes the experiment of that ID and returns what it found.
func findingsOf(t *testing.T, id string) []results.Finding {
	t.Helper()
	leaktest.Check(t)
	var got []results.Finding
	for _, e := range all {
		if e.ID != id {
			continue
		}
		err := Run(t.Context(), testWork, e, func(f results.Finding) error {
			got = append(got, f)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return got
}

func TestFindingsComeInOrder(t *testing.T) {
	got := findingsOf(t, "test/counts")
	if len(got) != 3 || got[2].Value != int64(2) || got[2].ID != "test/counts/2" {
		t.Errorf("found %+v", got)
	}
}

func TestAHangHasNoResult(t *testing.T) {
	got := findingsOf(t, "test/reads")
	last := got[len(got)-1]
	if len(got) != 2 || last.Class != NoResult || last.Verdict != results.CannotTell ||
		last.ID != "test/reads" {
		t.Errorf("found %+v; want one finding, then that there is no result", got)
	}
	if !strings.Contains(last.Found, "no result: stopped after 1.0 s") {
		t.Errorf("found %q", last.Found)
	}
}

func TestTheFirstErrorEndsAnExperiment(t *testing.T) {
	got := findingsOf(t, "test/fails")
	if len(got) != 1 || got[0].Class != Fails || !strings.Contains(got[0].Found, "first") {
		t.Errorf("found %+v; want that the experiment failed for the first reason", got)
	}
}

func TestAfterAnErrorNothingWorks(t *testing.T) {
	reported := 0
	trial := NewTrial(t.Context(), func(results.Finding) error { reported++; return nil })
	if !trial.Check(nil) || trial.Check(os.ErrInvalid) || trial.Check(nil) {
		t.Error("Check does not keep the first error")
	}
	trial.Found(results.Finding{})
	w, r := trial.Open(syspipe.Anonymous)
	if reported > 0 || w == nil || r == nil || trial.Start(testWork, nil) != nil {
		t.Errorf("a failed trial goes on")
	}
}

func TestRunEndsWithItsContextAndWithItsReader(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ignore := func(results.Finding) error { return nil }
	if err := Run(ctx, testWork, all[0], ignore); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v", err)
	}
	full := errors.New("disk full")
	calls := 0
	err := Run(t.Context(), testWork, all[0], func(results.Finding) error { calls++; return full })
	if !errors.Is(err, full) || calls != 1 {
		t.Errorf("went on for %d findings and returned %v", calls, err)
	}
}

// Where starting a process takes half a second, an emulator, no experiment hangs after five.
func TestASlowMachineHasMoreTime(t *testing.T) {
	for start, want := range map[time.Duration]time.Duration{
		10 * time.Millisecond:  DefaultLimit,
		500 * time.Millisecond: 100 * time.Second,
		5 * time.Second:        longestLimit,
	} {
		if got := limitAfter(start); got != want {
			t.Errorf("started in %s: %s, want %s", start, got, want)
		}
	}
}

// A program that forgot to call Main runs its main again as its own worker, and that one its own,
// until the machine has no processes left.
func TestAWorkerThatIsNoneStartsNone(t *testing.T) {
	t.Setenv("PIPEBENCH_WORK", "{}")
	err := Run(t.Context(), testWork, all[0], func(results.Finding) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "call proc.Main first") {
		t.Errorf("got %v", err)
	}
}
