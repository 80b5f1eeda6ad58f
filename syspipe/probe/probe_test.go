package probe_test

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

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/leaktest"
	"github.com/pipebench/pipebench/syspipe/probe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

func TestMain(m *testing.M) {
	proc.Worker()
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each worker takes a second to exit under -race
	os.Exit(m.Run())
}

// A program that forgot to call Worker runs its main again as its own worker, and that one its own,
// until the machine has no processes left.
func TestAWorkerThatIsNoneStartsNone(t *testing.T) {
	t.Setenv("PIPEBENCH_WORK", "{}")
	err := probe.Run(t.Context(), probe.Options{Steps: []string{"slot"}}, func(probe.Finding) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "call Worker first") {
		t.Errorf("got %v", err)
	}
}

// TestFindings runs everything once and holds the findings against each other and against the
// rules.
func TestFindings(t *testing.T) {
	leaktest.Check(t)
	found := map[syspipe.Kind]map[string]probe.Finding{}
	err := probe.Run(t.Context(), probe.Options{}, func(f probe.Finding) error {
		if found[f.Pipe] == nil {
			found[f.Pipe] = map[string]probe.Finding{}
		}
		if _, twice := found[f.Pipe][f.Step]; twice {
			t.Errorf("%s %s was found twice", f.Pipe, f.Step)
		}
		found[f.Pipe][f.Step] = f
		if f.Value == "hangs" || f.Value == "fails" {
			t.Errorf("%+v: %s", f, f.How)
		}
		if f.Agrees != nil && !*f.Agrees {
			t.Errorf("%+v; documented: %s", f, f.Documented)
		}
		if f.How == "" {
			t.Errorf("%+v does not say how", f)
		}
		t.Log(f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for kind, of := range found {
		if len(of) < 20 {
			t.Errorf("only %d findings on %s", len(of), kind)
		}
	}
}

func TestUnknownStepAndKind(t *testing.T) {
	for name, o := range map[string]probe.Options{
		"step": {Steps: []string{"telepathy"}},
		"kind": {Kinds: []syspipe.Kind{"tube"}},
	} {
		err := probe.Run(t.Context(), o, func(probe.Finding) error { return errors.New("nothing should be found") })
		if err == nil || !strings.Contains(err.Error(), "probe: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestAKindThatTheSystemLacksIsAFinding(t *testing.T) {
	lacked := slices.IndexFunc(syspipe.Kinds(), func(k syspipe.Kind) bool { return k.Supported() != nil })
	o := probe.Options{Kinds: []syspipe.Kind{syspipe.Kinds()[lacked], syspipe.Anonymous}, Steps: []string{"eof"}}
	var got []probe.Finding
	err := probe.Run(t.Context(), o, func(f probe.Finding) error { got = append(got, f); return nil })
	if err != nil || len(got) < 2 || got[0].Value != "unsupported" || !strings.Contains(got[0].How, runtime.GOOS) {
		t.Errorf("found %v, %v; want that the first kind is unsupported, then what the other does", got, err)
	}
}

func TestAHangIsAFinding(t *testing.T) {
	var got []probe.Finding
	o := probe.Options{Kinds: []syspipe.Kind{syspipe.Anonymous}, Steps: []string{"deadlock"}, StepTimeout: time.Millisecond}
	err := probe.Run(t.Context(), o, func(f probe.Finding) error { got = append(got, f); return nil })
	if err != nil || len(got) != 1 || got[0].Value != "hangs" {
		t.Errorf("found %v, %v; want one that hangs", got, err)
	}
}

func TestRunStopsWhenTold(t *testing.T) {
	stop := errors.New("enough")
	n := 0
	err := probe.Run(t.Context(), probe.Options{}, func(probe.Finding) error { n++; return stop })
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("Run went on for %d findings and returned %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := probe.Run(ctx, probe.Options{}, func(probe.Finding) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Run with a cancelled context: %v", err)
	}
}

func TestEveryRuleHasASource(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "freebsd", "windows"} {
		rules := probe.Rules(goos)
		if len(rules) == 0 {
			t.Errorf("no rules for %s", goos)
		}
		for _, r := range rules {
			if r.OS != goos || r.About == "" || r.Says == "" || r.Source == "" {
				t.Errorf("%+v is incomplete", r)
			}
		}
	}
	if rules := probe.Rules("plan9"); rules != nil && runtime.GOOS != "plan9" {
		t.Errorf("rules for plan9: %v", rules)
	}
}

// TestPredictionsHoldHere holds what is predicted of this system's pipes against what is found.
// Other systems' cannot be, here.
func TestPredictionsHoldHere(t *testing.T) {
	if runtime.GOOS == "linux" && os.Getpagesize() != 4096 {
		t.Skip("predictions are of Linux with pages of 4 KiB")
	}
	compared := 0
	o := probe.Options{Kinds: []syspipe.Kind{syspipe.Anonymous}, Steps: []string{"capacity", "slot", "fill", "growth", "all-or-nothing", "poll", "full", "broken", "eof"}}
	err := probe.Run(t.Context(), o, func(f probe.Finding) error {
		want, ok := probe.Predict(runtime.GOOS, f.Step)
		if !ok {
			return nil
		}
		compared++
		if fmt.Sprint(f.Value) != fmt.Sprint(want) {
			t.Errorf("%s: found %v, predicted %v", f.Step, f.Value, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if least := 5; compared < least {
		t.Errorf("only %d predictions were compared", compared)
	}
}

func TestPredict(t *testing.T) {
	for _, row := range []struct {
		os, step string
		want     any
		ok       bool
	}{
		{"linux", "capacity/fill/2049", 32784, true},
		{"linux", "short-write/4097", 4096, true},
		{"linux", "one-byte-after/511", true, true},
		{"linux", "settable/4097", 8192, true},
		{"darwin", "capacity/fill/511", 65408, true},
		{"darwin", "short-write/61440", 4096, true},
		{"freebsd", "all-or-nothing", 512, true},
		{"freebsd", "settable/100000", "unsupported", true},
		{"freebsd", "broken/after-0/sigpipe", true, true},
		{"windows", "capacity/fill/511", nil, false},
		{"linux", "broken/after-0/notice", nil, false},
		{"linux", "capacity/fill/0", nil, false},
		{"plan9", "slot", nil, false},
	} {
		if got, ok := probe.Predict(row.os, row.step); got != row.want || ok != row.ok {
			t.Errorf("Predict(%s, %s) = %v, %v; want %v, %v", row.os, row.step, got, ok, row.want, row.ok)
		}
	}
}

func TestProgressCountsExperiments(t *testing.T) {
	var seen []probe.Progress
	o := probe.Options{
		Kinds: []syspipe.Kind{syspipe.Anonymous}, Steps: []string{"capacity", "full"},
		Observe: func(p probe.Progress) { seen = append(seen, p) },
	}
	found := 0
	if err := probe.Run(t.Context(), o, func(probe.Finding) error { found++; return nil }); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 || seen[1].Done != 2 || seen[1].Of != 2 || seen[0].Step != "capacity" || seen[0].Findings+seen[1].Findings != found {
		t.Errorf("progress %+v, with %d findings", seen, found)
	}
}
