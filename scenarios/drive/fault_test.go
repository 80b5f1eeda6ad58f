package drive_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
		{"split-utf8=64KiB", target.Corrupt},
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
				o.Patience = time.Second
			}
			r, sweep := sweepOf(t, o, 1<<10, 16<<10, 128<<10)
			// on a busy machine a size that is served may be called slow
			fine := row.verdict == target.OK && r.Served()
			if !fine && r.Verdict != string(row.verdict) {
				t.Errorf("got %s at %d: %v", r.Verdict, r.Size, r.Evidence)
			}
			onCharacters := row.fault == "split-utf8=64KiB"
			if r.FailsOnCharacters() != onCharacters {
				t.Errorf("the characters are to blame: %v: %v", !onCharacters, r.Evidence)
			}
			var warnings string
			for _, r := range sweep.Targets {
				warnings += strings.Join(r.Warnings, " ")
			}
			switch row.fault {
			case "dirty":
				if strings.Count(warnings, "standard output without a message") != 1 {
					t.Errorf("warnings %q", warnings)
				}
			case "stderr-flood":
				if strings.Count(warnings, "standard error") != 1 ||
					!strings.Contains(warnings, "a client that does not read them can hang") {
					t.Errorf("warnings %q", warnings)
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
		{"choke", target.Deaf},
		{"die 5000", killed},
		{"endless 5000", target.Endless},
		{"trace", "exit 1"},
		{"properties", "exit 1"},
		{"panics", "exit 2"},
	} {
		t.Run(row.job, func(t *testing.T) {
			t.Parallel()
			o := server(row.job)
			o.MaxReply = 1 << 20
			if row.verdict == target.Unanswered || row.verdict == target.Deaf {
				o.Patience = time.Second
			}
			r, _ := sweepOf(t, o, 2<<10, 4<<10, 8<<10, 16<<10)
			if r.Verdict != string(row.verdict) || r.Size != 8<<10 {
				t.Errorf("got %s at %d: %v", r.Verdict, r.Size, r.Evidence)
			}
			if r.Evidence.Advice == "" {
				t.Error("without advice")
			}
			const ended = "; when it was sent another request, it ended: exit 2"
			if row.job == "choke" && !strings.HasSuffix(r.Evidence.Why, ended) {
				t.Errorf("why: %q", r.Evidence.Why)
			}
			if row.job == "trace" && !strings.Contains(strings.Join(r.Evidence.Failure.StderrTail,
				" "), "the buffer exceeds 5000 bytes") {
				t.Errorf("its last words: %q", r.Evidence.Failure.StderrTail)
			}
			if row.job == "properties" && !slices.Equal(r.Evidence.Failure.StderrTail,
				[]string{"Error [ERR_X]: no such buffer"}) {
				t.Errorf("its last words: %q", r.Evidence.Failure.StderrTail)
			}
			if row.job == "panics" && !slices.Equal(r.Evidence.Failure.StderrTail,
				[]string{"reads a long line", "panic: the line is too long"}) {
				t.Errorf("its last words: %q", r.Evidence.Failure.StderrTail)
			}
		})
	}
}

// A size at which the server was slow for a while is measured again.
func TestASizeThatWasSlowOnceIsNotCalledSlow(t *testing.T) {
	t.Parallel()
	over := filepath.Join(t.TempDir(), "over")
	o := server("stall 8192 " + over)
	o.Observe = func(step string) {
		if strings.HasSuffix(step, "measuring a slow size again") {
			os.WriteFile(over, nil, 0o600)
		}
	}
	d := begin(t, o)
	var kept []results.Target
	sizes := []int{2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10}
	sweep, err := d.Sweep(t.Context(), sizes, func(l results.Line) error {
		kept = append(kept, l.(results.Target))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, size := range sizes {
		if kept[i].Size != int64(size) || sweep.Targets[i].Size != int64(size) {
			t.Fatalf("the record %d is of %d bytes, not %d", i, kept[i].Size, size)
		}
	}
	if _, err := os.Stat(over); err != nil {
		t.Error("no size was measured again")
	}
	if kept[2].Verdict != string(target.OK) || sweep.Targets[2].Verdict != string(target.OK) {
		t.Errorf("kept %s: %v", kept[2].Verdict, kept[2].Evidence)
	}
}

// What came in place of an answer says more than that none came.
func TestWhatCameInsteadOfAnAnswerIsSaid(t *testing.T) {
	t.Parallel()
	const pieces = "; send the answer as one whole message "
	for job, says := range map[string][]string{
		"pieces notified": { // a notification is no answer gone wrong: servers publish diagnostics
			"; the request was swallowed, or its answer takes longer than --patience: ",
		},
		"pieces": {
			`, but 2 lines without a whole JSON-RPC message: {"jsonrpc":"2.0",`, pieces,
		},
		"misnumber": {", but one with id 7, and the request has id 1", "; an answer belongs to " +
			"the request whose id it has: copy the id of the request"},
		"misnumber all": {", but one with id 7, and the request has id 1"},
		"drop": {
			"; the request was swallowed, or its answer takes longer than --patience: ",
		},
	} {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			o := server(job)
			o.Protocol, o.Patience = "jsonrpc", time.Second
			if job == "misnumber all" {
				o.Start = 500 * time.Millisecond // its first requests get no answer, either
			}
			r, _ := sweepOf(t, o, 1<<10, 4<<10)
			advice := r.Evidence.Advice
			why := r.Evidence.Why
			if r.Verdict != string(target.Unanswered) || !strings.HasPrefix(advice, why) ||
				!strings.HasPrefix(advice, "no answer within ") {
				t.Errorf("%s: %s; advises %s", r.Verdict, why, advice)
			}
			for _, part := range says {
				if !strings.Contains(advice, part) {
					t.Errorf("says %q, not %q", advice, part)
				}
			}
		})
	}
}

// A server that takes its time over every request is known to do so from the first, which may take
// as long as its start.
func TestAServerThatIsSlowByNatureIsServed(t *testing.T) {
	t.Parallel()
	o := server("slow 100ms")
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
}

// One request without an answer in time may be a busy machine's fault: another process decides.
func TestASizeIsNotJudgedByOneRequestWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	lapsed := filepath.Join(t.TempDir(), "lapsed")
	for _, row := range []struct {
		job, protocol, want string
		warns               bool
	}{
		{"lapse " + lapsed, "lines", "ok, ok, ok", true},
		{"lapse exit " + lapsed + " too", "lines", "ok, exit 1", true},
		{"swallow 3000", "lines", "ok, unanswered", false},
		{"hold", "jsonrpc", "ok, answered late", false},
	} {
		t.Run(row.want, func(t *testing.T) {
			t.Parallel()
			o := server(row.job)
			o.Protocol, o.Patience, o.Budget = row.protocol, time.Second, 50*time.Millisecond
			sweep, err := begin(t, o).Sweep(t.Context(), drive.Doubling(2<<10, 8<<10), discard)
			if err != nil || verdictsOf(sweep) != row.want {
				t.Fatalf("%v, got %s, not %s", err, verdictsOf(sweep), row.want)
			}
			warnings := sweep.Targets[1].Warnings
			warned := slices.ContainsFunc(warnings, func(text string) bool {
				return strings.HasPrefix(text, "one request got no answer")
			})
			if warned != row.warns {
				t.Errorf("warnings %q", warnings)
			}
		})
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
		"sizes above 65,536 B were not timed") {
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
	takesTooLong(t, "400ms")
}

func TestASweepThatMeasuredNoSizeSaysSo(t *testing.T) {
	t.Parallel()
	takesTooLong(t, "1s")
}

// takesTooLong sweeps sizes with a server that pauses before each answer in the sweep, in which a
// size takes nine, and requires what its last record says. The server that is started for the
// search answers after 450 ms: so it has tried a size in two seconds of seven, and all eleven sizes
// would take ten.
func takesTooLong(t *testing.T, pause string) {
	t.Helper()
	o := server("slow " + pause + " 450ms " + filepath.Join(t.TempDir(), "started"))
	o.Protocol = "lines"
	d, set := begin(t, o), new(results.Set)
	ctx, cancel := context.WithTimeout(t.Context(), 14*time.Second)
	defer cancel()
	sizes := drive.Doubling(1<<10, 1<<20)
	err := d.Drive(ctx, drive.Plan{Sizes: sizes, SmallPipe: -1}, keepIn(set))
	var last results.Target
	for _, r := range set.Targets {
		if r.Verdict != results.VerdictNotTried {
			last = r
		}
	}
	if !errors.Is(err, context.DeadlineExceeded) || last.SearchedTo == nil ||
		*last.SearchedTo < 1<<10 {
		t.Fatalf("%v, and the last record is %+v", err, last)
	}
	const says = "the time was too short to measure all sizes"
	said := strings.Join(last.Warnings, "; ")
	if !strings.Contains(said, says) || !strings.Contains(said, "cut short") {
		t.Errorf("warns: %s", said)
	}
}

// A server that fails over small requests, too, or not over such a size in a new process, has no
// limit on their size.
func TestAServerThatFailsAfterManyRequestsFailsOverNoSize(t *testing.T) {
	t.Parallel()
	for _, job := range []string{"tired 20", "rests 8", "sums 20000"} {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			o := server(job)
			o.Protocol, o.Budget = "lines", 50*time.Millisecond
			if job == "rests 8" {
				o.Patience = time.Second
			}
			d, set := begin(t, o), new(results.Set)
			if err := d.Drive(t.Context(), drive.Plan{Sizes: []int{1 << 10, 2 << 10, 4 << 10}},
				keepIn(set)); err != nil {
				t.Fatal(err)
			}
			says := " B, then fails: "
			if job == "sums 20000" {
				says = "and not over a size: "
			}
			err := drive.Failed(set)
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("got %v", err)
			}
			for _, r := range set.Targets {
				if r.RequestLimit != nil || r.SearchedTo != nil {
					t.Errorf("found %+v", limitOf(r))
				}
				if strings.Contains(r.Evidence.Advice, "limit") {
					t.Errorf("advises %q", r.Evidence.Advice)
				}
			}
			warnings := fmt.Sprint(set.Targets[len(set.Targets)-1].Warnings)
			if job != "sums 20000" && strings.Contains(warnings, "not timed") {
				t.Errorf("of sizes that were not tried it says %s", warnings)
			}
			last := set.Targets[len(set.Targets)-1].Evidence.Failure
			if job == "sums 20000" &&
				(last == nil || last.AnySize || last.SentBefore > 20_000+100) {
				t.Errorf("found %+v", last)
			}
		})
	}
}

// A server that refuses all calls after some, or one at times, is not said to refuse a size,
// whether or not its tool echoes.
func TestAServerThatRefusesAfterManyCallsFailsOverNoSize(t *testing.T) {
	t.Parallel()
	const refuses = " 136 B or of 1,024 B, then fails: error reply"
	for job, says := range map[string]string{
		// few calls, which a busy machine reaches, too
		"calls 5 refuses":        "answers 4 requests of" + refuses,
		"calls 5 refuses stored": "answers 4 requests of" + refuses,
		"calls 2 refuses stored": "answers 1 request of" + refuses,
		"calls 4 each stored":    "fails after 3 answered requests or ",
	} {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			o := server(job)
			o.Tool = "echo"
			d, set := begin(t, o), new(results.Set)
			err := d.Drive(t.Context(), drive.Plan{Sizes: []int{1 << 10}}, keepIn(set))
			if err != nil {
				t.Fatal(err)
			}
			err = drive.Failed(set)
			if err == nil || !strings.HasPrefix(err.Error(), "the server "+says) {
				t.Errorf("got %v", err)
			}
			last := set.Targets[len(set.Targets)-1]
			if last.Evidence.Limit != nil || strings.Contains(last.Evidence.Advice, "size") {
				t.Errorf("found %+v, and advises %q", limitOf(last), last.Evidence.Advice)
			}
		})
	}
}

// A server that counts all requests counts those of the handshake.
func TestAServerThatEndsAfterManyRequestsFailsOverNoSize(t *testing.T) {
	t.Parallel()
	d, set := begin(t, server("tires 12")), new(results.Set)
	err := d.Drive(t.Context(), drive.Plan{Sizes: []int{1 << 10}}, keepIn(set))
	if err != nil {
		t.Fatal(err)
	}
	const says = " B or of 1,024 B, then fails: exited (code 3)"
	if err := drive.Failed(set); err == nil || !strings.HasSuffix(err.Error(), says) {
		t.Errorf("got %v", err)
	}
}

// The calls of a tool are counted, and no other requests.
func TestTheCallsBeforeAFailureAreCounted(t *testing.T) {
	t.Parallel()
	r, _ := sweepOf(t, server("calls 4"), 1<<10)
	if f := r.Evidence.Failure; f == nil || f.ServedBefore != 3 {
		t.Errorf("%s: %+v", r.Verdict, f)
	}
}

// Where the reading of a server stopped is said, and how it can be looked at.
func TestAServerThatStopsReadingIsSaidToHaveStopped(t *testing.T) {
	t.Parallel()
	o := server("sated " + filepath.Join(t.TempDir(), "sated"))
	o.Protocol, o.Patience = "lines", time.Second
	r, _ := sweepOf(t, o, 1<<10, 96<<10) // more than a pipe holds
	advice := r.Evidence.Advice
	for _, want := range []string{
		"of what was sent", "to see what it does instead", "pipebench inspect",
		"pipebench drive --patience 1m --size 96KiB --protocol lines -- ",
	} {
		if !strings.Contains(advice, want) {
			t.Errorf("says %q, not %q", advice, want)
		}
	}
	if strings.Contains(advice, "whole") {
		t.Errorf("says %q of a server that reads no more", advice)
	}
}

// A size that was asked for and not tried is no success.
func TestASizeForWhichThereWasNoTimeIsNotTried(t *testing.T) {
	t.Parallel()
	o := server("swallow 2048")
	o.Protocol, o.Patience, o.Longest = "lines", time.Hour, time.Hour
	d, set := begin(t, o), new(results.Set)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	plan := drive.Plan{Sizes: []int{128 << 10, 256 << 10}}
	if err := d.Drive(ctx, plan, keepIn(set)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	var sizes []int64
	for _, r := range set.Targets {
		if r.Verdict == results.VerdictNotTried {
			sizes = append(sizes, r.Size)
		}
	}
	if !slices.Equal(sizes, []int64{128 << 10, 256 << 10}) {
		t.Errorf("not tried are %v", sizes)
	}
	if err := drive.Undecided(set); err == nil || drive.Failed(set) != nil {
		t.Errorf("undecided %v, failed %v", err, drive.Failed(set))
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
		if g == nil || g.WallSlope == nil || g.Fast() {
			t.Fatalf("%v", g)
		}
		if *g.WallSlope >= 1.2 {
			return
		}
	}
	t.Error("three sweeps did not show it by the clock")
}
