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
	"github.com/pipebench/pipebench/syspipe/leaktest"
)

var verdicts = []Verdict{
	Unsupported, Sound, Noticed, Refused, Slow, Grows, Stuck, Orphaned, Corrupted, SilentLoss,
}

// expected are verdicts that every system of the family gives. What is left to the scheduler is not
// among them.
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
	"dirty-lines/read-line":   Stuck,

	"framing-mismatch/ndjson-to-ndjson":         Sound,
	"framing-mismatch/ndjson-to-adaptive:4096":  Sound,
	"framing-mismatch/ndjson-to-content-length": Stuck,
	"framing-mismatch/chunked:4096-to-ndjson":   Corrupted,
	"framing-mismatch/ndjson-to-chunked:4096":   Refused,

	"no-newline/closes":     Sound,
	"no-newline/skips":      Sound,
	"no-newline/as-printed": Grows,
}

// Every scenario runs for real, with smaller sizes where the time it takes is what it shows.
func TestScenarios(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the verdicts expected here are those of systems with EPIPE and O_NONBLOCK")
	}
	inTest(t, &growthFrom, 1<<10)
	inTest(t, &growthTo, 2<<10)
	inTest(t, &growthLargest, 16<<10)
	inTest(t, &fullPipeFramings, []string{"ndjson"})
	inTest(t, &fullPipeSize, 256<<10)
	inTest(t, &largeBytes, 1<<20)
	inTest(t, &writerBytes, 1<<20)
	inTest(t, &patience, 200*time.Millisecond)
	for i := range unboundedCases {
		inTest(t, &unboundedCases[i].bytes, []int64{1 << 20, lineLimit + 1<<20})
	}
	seen := map[string]Verdict{}
	for _, s := range All() {
		t.Run(s.Name, func(t *testing.T) {
			leaktest.Check(t)
			for _, f := range faultsOf(t, s) {
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

// inTest gives a setting another value for the time of a test.
func inTest[T any](t *testing.T, setting *T, value T) {
	old := *setting
	*setting = value
	t.Cleanup(func() { *setting = old })
}

// faultsOf runs a scenario and returns its faults, as a file would hold them.
func faultsOf(t *testing.T, s Scenario) []results.Fault {
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
	if !slices.Contains(verdicts, Verdict(f.Verdict)) {
		t.Errorf("%s: %q is no verdict", f.ID, f.Verdict)
	}
	var e Summarised
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
	if len(experiments) != len(seen) {
		t.Errorf("%d experiments for %d misbehaviours of programs", len(experiments), len(seen))
	}
	if _, err := Find("nope"); err == nil || !strings.Contains(err.Error(), "reader-gone") {
		t.Errorf("Find(nope) does not say what is known: %v", err)
	}
}

func find(t *testing.T, name string) Scenario {
	t.Helper()
	s, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAScenarioEndsAtItsDeadline(t *testing.T) {
	leaktest.Check(t)
	s := find(t, "both-write-first")
	s.Deadline = time.Nanosecond
	err := s.Run(t.Context(), Options{Run: "test"}, func(results.Line) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "took longer than") {
		t.Errorf("got %v", err)
	}
}

func TestAScenarioEndsWhenItsRecordCannotBeKept(t *testing.T) {
	leaktest.Check(t)
	full := errors.New("disk full")
	s := find(t, "exit-before-drain")
	err := s.Run(t.Context(), Options{Run: "test"}, func(results.Line) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

func TestAScenarioCanBeInterrupted(t *testing.T) {
	leaktest.Check(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Run: "test", Observe: func(string) { cancel() }}
	err := find(t, "both-write-first").Run(ctx, o, func(results.Line) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func ExampleScenario_Run() {
	s, err := Find("split-utf8")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = s.Run(context.Background(), Options{Run: "example"}, func(l results.Line) error {
		f := l.(results.Fault)
		var e SplitText
		err := f.Evidence.Decode(&e)
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
