package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/syspipe/leaktest"
)

// expected are verdicts that every system of the family gives. What is left to
// the scheduler is not among them.
var expected = map[string]Verdict{
	"reader-gone/anonymous/poller/before":    Noticed,
	"reader-gone/anonymous/blocking/during":  Noticed,
	"reader-gone/anonymous/sleep=10ms/after": SilentLoss,
	"reader-gone/fifo/poll/during":           Noticed,
	"reader-gone/socketpair/blocking/during": Noticed,
	"reader-gone/stdout/default":             Noticed,

	"exit-before-drain/anonymous/exits":  SilentLoss,
	"exit-before-drain/anonymous/waits":  Sound,
	"exit-before-drain/socketpair/exits": SilentLoss,

	"orphan/reads": Sound,
	"orphan/deaf":  Orphaned,
	"orphan/busy":  Orphaned,

	"both-write-first/fits":    Sound,
	"both-write-first/exceeds": Stuck,
	"both-write-first/cure":    Sound,

	"stderr-undrained/logs-0":             Sound,
	"stderr-undrained/logs-65537":         Stuck,
	"stderr-undrained/logs-65537-drained": Sound,

	"nonblocking-stdout/blocking":             Sound,
	"nonblocking-stdout/ignores-short-writes": SilentLoss,
	"nonblocking-stdout/retries":              Sound,

	"head-of-line/ndjson":       Slow,
	"head-of-line/chunked:4096": Sound,

	"interleave/512B": Sound,

	"split-utf8/bytes":  Sound,
	"split-utf8/strict": SilentLoss,
	"split-utf8/lossy":  Corrupted,

	"dirty-lines/lines":       Noticed,
	"dirty-lines/json-stream": Noticed,

	"framing-mismatch/ndjson-to-ndjson":         Sound,
	"framing-mismatch/ndjson-to-adaptive:4096":  Sound,
	"framing-mismatch/ndjson-to-content-length": Stuck,
	"framing-mismatch/chunked:4096-to-ndjson":   Corrupted,
	"framing-mismatch/ndjson-to-chunked:4096":   Refused,

	"no-newline/closes":     Sound,
	"no-newline/skips":      Sound,
	"no-newline/as-printed": Grows,
}

// Every scenario runs for real, with smaller sizes where the time it takes is
// what it shows.
func TestScenarios(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the verdicts expected here are those of systems with EPIPE and O_NONBLOCK")
	}
	sizes, framings := growthSizes, fullPipeFramings
	growthSizes = []int{SlopeFrom, 2 * SlopeFrom, 4 * SlopeFrom}
	fullPipeFramings = []string{"ndjson"}
	t.Cleanup(func() { growthSizes, fullPipeFramings = sizes, framings })
	seen := map[string]Verdict{}
	for _, s := range All() {
		t.Run(s.Name, func(t *testing.T) {
			leaktest.Check(t)
			for _, f := range play(t, s) {
				seen[f.ID] = Verdict(f.Verdict)
				check(t, s, f)
			}
		})
	}
	for id, want := range expected {
		if got, ok := seen[id]; !ok || got != want {
			t.Errorf("%s: %q, want %s", id, got, want)
		}
	}
}

// play runs a scenario and returns its faults, as a file would hold them.
func play(t *testing.T, s Scenario) []results.Fault {
	t.Helper()
	var out []results.Fault
	file := results.NewWriter(io.Discard)
	err := s.Run(t.Context(), Options{Run: "test", Seed: 1}, func(l results.Line) error {
		if f, ok := l.(results.Fault); ok {
			out = append(out, f)
		}
		return file.Write(l)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Error("no fault was recorded")
	}
	return out
}

// check looks at what every fault must have.
func check(t *testing.T, s Scenario, f results.Fault) {
	t.Helper()
	if name, _, _ := strings.Cut(f.ID, "/"); name != s.Name {
		t.Errorf("%s: the record is called %s", s.Name, f.ID)
	}
	if !slices.Contains(Verdicts(), Verdict(f.Verdict)) {
		t.Errorf("%s: %q is no verdict", f.ID, f.Verdict)
	}
	var e struct{ Summary string }
	if err := f.Evidence.Decode(&e); err != nil || e.Summary == "" {
		t.Errorf("%s: no summary", f.ID)
	}
	if f.Advice == "" && f.Verdict != string(Unsupported) {
		t.Errorf("%s: no advice", f.ID)
	}
}

func TestAllScenariosAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		if seen[s.Name] || s.Deadline <= 0 {
			t.Errorf("scenario %+v", s)
		}
		seen[s.Name] = true
		if got, err := Find(s.Name); err != nil || got.Name != s.Name {
			t.Errorf("Find(%q): %v, %v", s.Name, got.Name, err)
		}
	}
	if listed := catalogue.Of(catalogue.Program); len(listed) != len(seen) {
		t.Errorf("%d scenarios for %d misbehaviours of programs", len(seen), len(listed))
	}
	if _, err := Find("nope"); err == nil || !strings.Contains(err.Error(), "reader-gone") {
		t.Errorf("Find(nope) does not say what is known: %v", err)
	}
}

func TestAScenarioEndsAtItsDeadline(t *testing.T) {
	leaktest.Check(t)
	s := bothWriteFirst
	s.Deadline = time.Nanosecond
	err := s.Run(t.Context(), Options{Run: "test"}, func(results.Line) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "took longer than") {
		t.Errorf("got %v", err)
	}
}

func TestAScenarioEndsWhenItsRecordCannotBeKept(t *testing.T) {
	leaktest.Check(t)
	full := errors.New("disk full")
	err := exitBeforeDrain.Run(t.Context(), Options{Run: "test"}, func(results.Line) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

func TestAScenarioCanBeInterrupted(t *testing.T) {
	leaktest.Check(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := bothWriteFirst.Run(ctx, Options{Run: "test", Observe: func(string) { cancel() }}, func(results.Line) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCurveOfWhatHasNone(t *testing.T) {
	if _, ok := CurveOf(results.Fault{Evidence: results.MustEvidence(map[string]any{"size": 1})}); ok {
		t.Error("a curve without points")
	}
}

func ExampleDecode() {
	s, err := Find("split-utf8")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = s.Run(context.Background(), Options{Run: "example"}, func(l results.Line) error {
		f := l.(results.Fault)
		e, err := Decode[Text](f)
		fmt.Printf("%s: %s, %d of %d lost\n", e.Receiver, f.Verdict, e.Lost, e.Messages)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// bytes: sound, 0 of 9 lost
	// strict: silent-loss, 9 of 9 lost
	// lossy: corrupted, 0 of 9 lost
}
