package failures_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/failures"
	"github.com/pipebench/pipebench/syspipe/leaktest"
)

// expected are the classes of findings that every system has.
var expected = map[string]string{
	"interleave/ndjson":         failures.Corrupted,
	"interleave/content-length": failures.Corrupted,

	"split-utf8/bytes":  failures.Sound,
	"split-utf8/strict": failures.SilentLoss,
	"split-utf8/lossy":  failures.Corrupted,

	"broken-chunks/in-turn":           failures.Sound,
	"broken-chunks/shown-early":       failures.Sound,
	"broken-chunks/swapped":           failures.Sound,
	"broken-chunks/lost":              failures.Refused,
	"broken-chunks/lost-open":         failures.Stuck,
	"broken-chunks/invalid/no-header": failures.Refused,
	"broken-chunks/invalid/no-total":  failures.Refused,
	"broken-chunks/invalid/index":     failures.Refused,
	"broken-chunks/invalid/negative":  failures.Refused,
	"broken-chunks/invalid/total":     failures.Refused,
	"broken-chunks/invalid/twice":     failures.Refused,
	"broken-chunks/invalid/altered":   failures.Corrupted,

	"partial-reads/lines":      failures.Sound,
	"partial-reads/rescan":     failures.Sound,
	"partial-reads/as-printed": failures.Sound,

	"oversized-line/exact":  failures.Sound,
	"oversized-line/closes": failures.Refused,
	"oversized-line/skips":  failures.Noticed,

	"dirty-lines/lines/clean":             failures.Sound,
	"dirty-lines/lines/log-line":          failures.Sound,
	"dirty-lines/lines/two-on-a-line":     failures.Refused,
	"dirty-lines/scanner/log-line":        failures.Noticed,
	"dirty-lines/read-line/clean":         failures.Stuck,
	"dirty-lines/json-stream/log-line":    failures.Noticed,
	"dirty-lines/json-stream/clean":       failures.Sound,
	"dirty-lines/content-length/log-line": failures.Sound, // it looks like a header

	"dirty-lines/content-length/any-bytes":   failures.Sound,
	"dirty-lines/as-printed/clean":           failures.Sound,
	"dirty-lines/as-printed/no-last-newline": failures.SilentLoss,

	"framing-mismatch/ndjson-to-ndjson":         failures.Sound,
	"framing-mismatch/ndjson-to-adaptive:4096":  failures.Sound,
	"framing-mismatch/adaptive:4096-to-ndjson":  failures.Corrupted,
	"framing-mismatch/ndjson-to-content-length": failures.Stuck,
	"framing-mismatch/chunked:4096-to-ndjson":   failures.Corrupted,
	"framing-mismatch/ndjson-to-chunked:4096":   failures.Refused,

	"no-newline/closes":      failures.Sound,
	"no-newline/skips":       failures.Sound,
	"no-newline/as-printed":  failures.Grows,
	"no-newline/checks-late": failures.Grows,

	"kept-memory/64MiB":         failures.Sound,
	"kept-memory/16MiB/at-once": failures.Grows,
	"kept-memory/16MiB/later":   failures.Sound,
}

// expectedOfPrograms are those of programs. Elsewhere streams have other modes, or nobody tells
// what becomes of a process whose parent has ended.
var expectedOfPrograms = map[string]string{
	"reader-gone/ignores-it":                  failures.Stuck,
	"exit-before-drain/exits":                 failures.SilentLoss,
	"nonblocking-stdout/ignores-short-writes": failures.SilentLoss,
	"orphan/deaf":                             failures.Orphaned,
	"stderr-undrained/logs-much":              failures.Stuck,
}

// Every failure is shown for real.
func TestFailuresAreShown(t *testing.T) {
	leaktest.Check(t)
	for _, failure := range failures.All() {
		t.Run(failure.Name, func(t *testing.T) {
			t.Parallel()
			seen := map[string]bool{}
			o := failures.Options{Timeout: time.Minute} // for a busy machine
			if failure.Name == "reader-gone" {
				o.Timeout = 8 * time.Second // its program never ends: all of this is waited for
			}
			err := failure.Show(t.Context(), o, func(f results.Finding) error {
				seen[f.Name()] = true
				look(t, failure, f)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for id := range expected {
				if strings.HasPrefix(id, failure.Name+"/") && !seen[id] {
					t.Errorf("%s was not shown", id)
				}
			}
		})
	}
}

// look looks at what every finding must have.
func look(t *testing.T, failure failures.Failure, f results.Finding) {
	t.Helper()
	if !strings.HasPrefix(f.ID, "failure/"+failure.Name+"/") || f.Found == "" {
		t.Errorf("%+v", f)
	}
	if err := f.Validate(); err != nil {
		t.Errorf("%s: %v", f.ID, err)
	}
	if (f.Advice != "") != slices.Contains(
		[]results.Verdict{results.Fails, results.Depends}, f.Verdict) {
		t.Errorf("%s: %s with the advice %q", f.ID, f.Verdict, f.Advice)
	}
	want, known := expected[f.Name()]
	if !known && runtime.GOOS == "linux" {
		want, known = expectedOfPrograms[f.Name()]
	}
	if known && f.Class != want {
		t.Errorf("%s: %s, want %s: %s", f.ID, f.Class, want, f.Found)
	}
}

func TestFailuresAreDescribed(t *testing.T) {
	for _, f := range failures.All() {
		if f.Title == "" || f.Advice == "" {
			t.Errorf("%+v", f)
		}
		if got, err := failures.Find(f.Name); err != nil || got.Name != f.Name {
			t.Errorf("Find(%q): %v, %v", f.Name, got.Name, err)
		}
	}
	_, err := failures.Find("nope")
	if err == nil || !strings.Contains(err.Error(), "reader-gone") {
		t.Errorf("Find(nope) does not say what is known: %v", err)
	}
}

func TestShowingEndsWhenAFindingCannotBeKept(t *testing.T) {
	leaktest.Check(t)
	full := errors.New("disk full")
	for _, f := range failures.All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			err := f.Show(t.Context(), failures.Options{}, func(results.Finding) error {
				calls++
				return full
			})
			if !errors.Is(err, full) || calls != 1 {
				t.Errorf("%d findings, %v", calls, err)
			}
		})
	}
}

func TestShowingCanBeInterrupted(t *testing.T) {
	leaktest.Check(t)
	for _, name := range []string{"exit-before-drain", "no-newline", "dirty-lines"} {
		f, err := failures.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		o := failures.Options{Observe: func(string) { cancel() }}
		err = f.Show(ctx, o, func(results.Finding) error { return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
