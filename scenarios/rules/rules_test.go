package rules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/leaktest"
	"github.com/pipebench/pipebench/syspipe/proc"
)

func TestMain(m *testing.M) {
	proc.Main(Jobs(), bench.Jobs())
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each worker takes a second to exit under -race
	os.Exit(m.Run())
}

// runRules makes the experiments and returns what they found. On a busy machine one that measures
// takes long.
func runRules(t *testing.T, o Options) []results.Finding {
	t.Helper()
	if o.StepTimeout == 0 {
		o.StepTimeout = time.Minute
	}
	var got []results.Finding
	err := Run(t.Context(), o, func(f results.Finding) error {
		got = append(got, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Everything is found out once, nothing hangs, and what is documented of this system holds.
func TestFindings(t *testing.T) {
	leaktest.Check(t)
	seen := map[string]bool{}
	perKind := map[syspipe.Kind]int{}
	for _, f := range runRules(t, Options{}) {
		t.Log(f.ID, f.Value, f.Unit)
		kind, _, ok := ParseID(f.ID)
		perKind[kind]++
		switch {
		case !ok || seen[f.ID]:
			t.Errorf("%s: an ID used twice, or of no rule", f.ID)
		case f.Verdict == results.CannotTell:
			t.Errorf("%s: %s", f.ID, f.Found)
		case f.Verdict == results.Refuted:
			t.Errorf("%s: %s", f.ID, f.Found)
		case f.Title == "" || f.Found == "":
			t.Errorf("%s does not say how: %+v", f.ID, f)
		}
		seen[f.ID] = true
	}
	for kind, n := range perKind {
		if kind != "" && n < 20 {
			t.Errorf("only %d findings on %s", n, kind)
		}
	}
	for _, id := range []string{"rule/copy-zone", "rule/wake-up/", "rule/write-size/"} {
		if !slices.ContainsFunc(slices.Collect(keys(seen)), func(have string) bool {
			return strings.HasPrefix(have, id)
		}) {
			t.Errorf("nothing was found on %s", id)
		}
	}
}

func keys(of map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range of {
			if !yield(key) {
				return
			}
		}
	}
}

func TestUnknownStepAndKind(t *testing.T) {
	for name, o := range map[string]Options{
		"telepathy": {Steps: []string{"telepathy"}},
		"tube":      {Kinds: []syspipe.Kind{"tube"}},
	} {
		err := Run(t.Context(), o, func(results.Finding) error {
			return errors.New("nothing should be found")
		})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestAKindThatTheSystemLacksIsAFinding(t *testing.T) {
	lacked := slices.IndexFunc(syspipe.Kinds(), func(k syspipe.Kind) bool {
		return k.Supported() != nil
	})
	if lacked < 0 {
		t.Skip("this system has all kinds of pipe")
	}
	kinds := []syspipe.Kind{syspipe.Kinds()[lacked], syspipe.Anonymous}
	got := runRules(t, Options{Kinds: kinds, Steps: []string{"eof"}})
	if len(got) < 2 || got[0].Verdict != results.Unsupported ||
		!strings.Contains(got[0].Found, runtime.GOOS) {
		t.Errorf("found %v; want that the first kind is unsupported, then what the other does", got)
	}
}

func TestRunStopsWhenTold(t *testing.T) {
	stop := errors.New("enough")
	n := 0
	err := Run(t.Context(), Options{}, func(results.Finding) error { n++; return stop })
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("Run went on for %d findings and returned %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = Run(ctx, Options{}, func(results.Finding) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run with a cancelled context: %v", err)
	}
}

func TestProgressCountsExperiments(t *testing.T) {
	var seen []string
	all := 0
	got := runRules(t, Options{
		Kinds: []syspipe.Kind{syspipe.Anonymous},
		Steps: []string{"capacity", "full"},
		Observe: func(experiment string, findings, total int) {
			seen = append(seen, fmt.Sprintf("%s of %d", experiment, total))
			all += findings
		},
	})
	want := []string{"anonymous capacity of 2", "anonymous full of 2"}
	if !slices.Equal(seen, want) || all != len(got) {
		t.Errorf("progress %q with %d findings, want %q with %d", seen, all, want, len(got))
	}
}

// What is predicted of this system's pipes is what is found. Other systems' cannot be tried here.
func TestPredictionsHoldHere(t *testing.T) {
	if runtime.GOOS == "linux" && os.Getpagesize() != 4096 {
		t.Skip("predictions are of Linux with pages of 4 KiB")
	}
	compared := 0
	for _, f := range runRules(t, Options{
		Kinds: []syspipe.Kind{syspipe.Anonymous},
		Steps: []string{"capacity", "slot", "fill", "growth", "all-or-nothing", "poll", "full",
			"broken", "eof"},
	}) {
		_, step, _ := ParseID(f.ID)
		want, ok := Predict(runtime.GOOS, step)
		if !ok {
			continue
		}
		compared++
		if fmt.Sprint(f.Value) != fmt.Sprint(want) {
			t.Errorf("%s: found %v, predicted %v", f.ID, f.Value, want)
		}
	}
	if least := 5; compared < least {
		t.Errorf("only %d predictions were compared", compared)
	}
}

func TestIDsAreReadAsTheyAreWritten(t *testing.T) {
	for _, kind := range []syspipe.Kind{"", syspipe.FIFO, syspipe.SocketPair} {
		gotKind, step, ok := ParseID(ID(kind, "capacity/fill/2049"))
		if !ok || gotKind != kind || step != "capacity/fill/2049" {
			t.Errorf("%q: %q %s", kind, gotKind, step)
		}
	}
	if _, _, ok := ParseID("claim/000-pipe-buf"); ok {
		t.Error("a claim is taken for a rule")
	}
}

func TestTheNumberOfAStep(t *testing.T) {
	for step, want := range map[string]string{
		"slot":                      "slot 0",
		"capacity/fill/2049":        "capacity/fill 2049",
		"interleave/512/read-4096":  "interleave 512",
		"broken/after-0/accepted":   "broken/after/accepted 0",
		"broken/after-8192/sigpipe": "broken/after/sigpipe 8192",
	} {
		name, n := splitStep(step)
		if got := fmt.Sprint(name, " ", n); got != want {
			t.Errorf("%s: %s, want %s", step, got, want)
		}
	}
}
