package drive_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// sweepOf drives a server over a few sizes and returns the first record that is not ok, or the
// last.
func sweepOf(t *testing.T, o drive.Options, sizes ...int) (results.Target, *drive.Sweep) {
	t.Helper()
	o.Patience = cmp.Or(o.Patience, 1e9)
	d := begin(t, o)
	sweep, err := d.Sweep(t.Context(), sizes, discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range sweep.Targets {
		if r.Verdict != string(target.OK) {
			return r, sweep
		}
	}
	return sweep.Targets[len(sweep.Targets)-1], sweep
}

// verdictsOf are the verdicts of a sweep, by size.
func verdictsOf(sweep *drive.Sweep) string {
	var verdicts []string
	for _, r := range sweep.Targets {
		verdicts = append(verdicts, r.Verdict)
	}
	return strings.Join(verdicts, ", ")
}

func TestSweepNamesEachFault(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		fault   string
		verdict target.Verdict
	}{
		{"never-read@32KiB", target.Deaf}, // first, since it is waited for
		{"corrupt@32KiB", target.Corrupt},
		{"truncate-at-exit@32KiB", target.Truncated},
		{"trickle=16B", target.OK},
		{"stderr-flood", target.OK},
		{"reorder", target.OK},
		{"dirty", target.OK},
	} {
		t.Run(row.fault, func(t *testing.T) {
			t.Parallel()
			o := server("mcp " + row.fault)
			if row.verdict == target.Deaf {
				o.Patience = 2 * time.Second
			}
			r, _ := sweepOf(t, o, 1<<10, 16<<10, 192<<10)
			// on a busy machine a size that is served may be called slow
			fine := row.verdict == target.OK && r.Served()
			if !fine && r.Verdict != string(row.verdict) {
				t.Errorf("got %s at %d: %v", r.Verdict, r.Size, r.Evidence)
			}
			switch row.fault {
			case "dirty":
				if !strings.Contains(strings.Join(r.Warnings, " "), "are no messages") {
					t.Errorf("warnings %q", r.Warnings)
				}
			case "stderr-flood":
				if !strings.Contains(strings.Join(r.Warnings, " "), "standard error") {
					t.Errorf("warnings %q", r.Warnings)
				}
			case "corrupt@32KiB":
				if len(r.Warnings) > 0 {
					t.Errorf("warnings %q where no request was served", r.Warnings)
				}
			case "never-read@32KiB":
				if f := r.Evidence.Failure; f == nil || !f.Unsent || f.Probe != "not taken" {
					t.Errorf("evidence %v", r.Evidence)
				}
			}
		})
	}
}

func TestSweepNamesWhatOneSizeMeets(t *testing.T) {
	t.Parallel()
	killed := target.Verdict("signal SIGKILL")
	if runtime.GOOS == "windows" {
		killed = "exit 1" // there are no signals
	}
	for _, row := range []struct {
		job     string
		verdict target.Verdict
	}{
		{"stall 8192", target.Slow},
		{"swallow 5000", target.Unanswered},
		{"die 5000", killed},
		{"endless 5000", target.Endless},
		{"trace", "exit 1"},
	} {
		t.Run(row.job, func(t *testing.T) {
			t.Parallel()
			o := server(row.job)
			o.MaxReply = 1 << 20
			if row.verdict == target.Unanswered {
				o.Patience = 2 * time.Second
			}
			r, _ := sweepOf(t, o, 2<<10, 4<<10, 8<<10, 16<<10)
			if r.Verdict != string(row.verdict) || r.Size != 8<<10 {
				t.Errorf("got %s at %d: %v", r.Verdict, r.Size, r.Evidence)
			}
			if r.Evidence.Advice == "" {
				t.Error("without advice")
			}
			if row.job == "trace" && !strings.Contains(strings.Join(r.Evidence.Failure.StderrTail,
				" "), "the buffer exceeds 5000 bytes") {
				t.Errorf("its last words: %q", r.Evidence.Failure.StderrTail)
			}
		})
	}
}

// A server that takes its time over every request is known to do so from the first, which may take
// as long as its start.
func TestAServerThatIsSlowByNatureIsServed(t *testing.T) {
	t.Parallel()
	o := server("slow 300ms")
	o.Patience = 20 * time.Millisecond
	if r, _ := sweepOf(t, o, 1<<10, 2<<10); !r.Served() {
		t.Errorf("got %s: %v", r.Verdict, r.Evidence)
	}
}

func TestASweepEndsAtTheFirstFailureAndTheServerIsStartedAgain(t *testing.T) {
	o := server("mcp exit0@32KiB")
	d := open(t, o)
	for _, row := range []struct {
		sizes []int
		want  string
	}{
		{[]int{16 << 10, 64 << 10, 128 << 10}, "ok, exit 0"},
		{[]int{1 << 10}, "ok"},
	} {
		sweep, err := d.Sweep(t.Context(), row.sizes, discard)
		if err != nil {
			t.Fatal(err)
		}
		if got := verdictsOf(sweep); got != row.want {
			last := sweep.Targets[len(sweep.Targets)-1]
			t.Errorf("got %s: %v", got, last.Evidence)
		}
	}
	if d.Starts() != 2 {
		t.Errorf("started %d times, not once more after the first failure", d.Starts())
	}
}

// A size that fails may take its whole deadline: the limit is found before the sweep goes on.
func TestTheLimitIsSearchedAtTheFirstFailure(t *testing.T) {
	d, set := open(t, server("mcp exit0@32KiB")), new(results.Set)
	if err := d.Drive(t.Context(), drive.Plan{Sizes: []int{16 << 10, 64 << 10, 128 << 10,
		256 << 10}, SmallPipe: -1}, keepIn(set)); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, r := range set.Targets {
		if r.RequestLimit != nil {
			order = append(order, fmt.Sprint("limit ", *r.RequestLimit))
		} else if r.Size > 0 {
			order = append(order, fmt.Sprint(r.Size>>10, " KiB ", r.Verdict))
		}
	}
	if last := set.Targets[1]; !slices.Contains(last.Warnings,
		"sizes above 65,536 B were not measured") {
		t.Errorf("warnings %q", last.Warnings)
	}
	if got := strings.Join(order, ", "); got != "16 KiB ok, 64 KiB exit 0, limit 32768" {
		t.Errorf("found %s", got)
	}
}

// The sweep of a server that takes long for everything leaves half of the time to the search for
// the limit, and what that found by the end of the time is kept.
func TestASweepThatTakesTooLongSaysHowFarItWent(t *testing.T) {
	t.Parallel()
	o := server("slow 400ms")
	o.Protocol = "lines"
	d, set := begin(t, o), new(results.Set)
	// for twenty answers, of more than forty
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	err := d.Drive(ctx, drive.Plan{Sizes: drive.Doubling(1<<10, 1<<20), SmallPipe: -1}, keepIn(set))
	last := set.Targets[len(set.Targets)-1]
	if !errors.Is(err, context.DeadlineExceeded) || last.SearchedTo == nil ||
		*last.SearchedTo < 1<<10 {
		t.Fatalf("%v, and the last record is %+v", err, last)
	}
	if said := strings.Join(last.Warnings, "; "); !strings.Contains(said,
		"nothing but the limit was measured") || !strings.Contains(said, "cut short") {
		t.Errorf("warns: %s", said)
	}
}

func TestAServerThatFailsAfterManyRequestsFailsOverNoSize(t *testing.T) {
	o := server("tired 20")
	o.Protocol, o.Budget = "lines", 50*time.Millisecond
	d, set := open(t, o), new(results.Set)
	if err := d.Drive(t.Context(), drive.Plan{Sizes: []int{1 << 10, 2 << 10, 4 << 10},
		SmallPipe: -1}, keepIn(set)); err != nil {
		t.Fatal(err)
	}
	if err := drive.AllFailed(set); err == nil || !strings.Contains(err.Error(),
		"not over a size: exit 1 after 1") {
		t.Errorf("got %v", err)
	}
}

// Time that a server sleeps, or waits for a CPU, is not its work.
func TestGrowthIsThatOfTheServersWork(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the CPU time of another process is not told")
	}
	o := server("sleepy")
	o.Protocol = "lines"
	d := open(t, o)
	for range 3 {
		sweep, err := d.Sweep(t.Context(), drive.Doubling(128<<10, 512<<10), discard)
		if err != nil {
			t.Fatal(err)
		}
		// its work is next to nothing, so beside others it may be too noisy to tell; by the clock
		// it is fast
		g := sweep.Growth
		if g == nil || g.Wall == nil || g.Fast() {
			t.Fatalf("%v", g)
		}
		if *g.Wall >= 1.2 {
			return
		}
	}
	t.Error("three sweeps did not show it by the clock")
}
