package drive

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/stat/assert"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/syspipe"
)

// A Plan is what to find out about a server. The zero Plan is what most people ask: how fast, how
// it grows, where it breaks, and how.
type Plan struct {
	Sizes   []int // of the sweep, ascending; nil is 1 KiB to 64 MiB, doubling
	NoSweep bool  // only what else is asked for
	Limits  bool  // search for the limits to the byte, even if the sweep met none
	LimitTo int   // how far; 0 is the largest of Sizes
	// bytes of the pipes in which growth is measured a second time; 0 is 4 KiB, less than 0 is not
	// at all
	SmallPipe int

	least map[int]int64 // round trips of a size, as many as are demanded
}

// Demand has a size measured until an assertion on it can be judged: a percentile takes a number of
// round trips that a budget may not hold. They have half a minute. An assertion on every size
// demands nothing.
func (p *Plan) Demand(a assert.Condition) {
	if a.Size <= 0 || a.Observations() == 0 {
		return
	}
	if p.least == nil {
		p.least = map[int]int64{}
	}
	p.least[int(a.Size)] = max(p.least[int(a.Size)], a.Observations())
}

// demandTime is how long a size is measured at most for what is demanded of it.
const demandTime = 30 * time.Second

const (
	defaultFrom      = 1 << 10
	defaultTo        = 64 << 20
	defaultSmallPipe = 4 << 10
	// the largest message of the second measurement: where growth is quadratic, 64 MiB would take
	// minutes
	growthTo = 8 << 20
)

func (p Plan) withDefaults() Plan {
	if len(p.Sizes) == 0 {
		p.Sizes = Doubling(defaultFrom, defaultTo)
	}
	p.LimitTo = cmp.Or(p.LimitTo, p.Sizes[len(p.Sizes)-1])
	p.SmallPipe = cmp.Or(p.SmallPipe, defaultSmallPipe)
	return p
}

// Drive does what the plan asks for: it sweeps up to the first size that fails, searches for the
// limits there, or where it is told to, and measures how time grows in small pipes, which decide in
// how many pieces a server reads. Larger sizes than the first that failed come last: each may take
// its whole deadline to fail. Every record is kept as soon as it is known, so that an interrupted
// run has what it finished.
//
// Where ctx has a deadline the sweep has half of the time. What is then left goes to the search for
// limits: of a slow server, too, it is known how much it takes.
func (d *Driver) Drive(ctx context.Context, p Plan, sink Sink) error {
	p = p.withDefaults()
	d.least = p.least
	served, rest := p.LimitTo, []int(nil)
	if !p.NoSweep {
		half := ctx
		if end, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			half, cancel = context.WithTimeoutCause(ctx, time.Until(end)/2, errHalfTime)
			defer cancel()
		}
		sweep, err := d.sweep(half, p.Sizes, sink, true)
		if g := sweep.Growth; g != nil { // what was measured says it, though the time may be over
			err = errors.Join(err, sink(d.growthRecord(*g)))
		}
		if err != nil && !errors.Is(err, errHalfTime) {
			return err
		}
		served = 0
		for _, t := range sweep.Targets { // the last of which may have failed
			if t.Served() {
				served = int(t.Size)
				continue
			}
			d.failure = afterRequests(t)
			rest = stat.Filter(p.Sizes, func(size int) bool { return int64(size) > t.Size })
		}
		p.Limits = p.Limits || err != nil || d.failure != ""
		if err != nil && d.failure == "" {
			d.unswept = served
		}
	}
	if p.Limits {
		limits, err := d.FindLimits(ctx, p.LimitTo, sink)
		if err != nil {
			return err
		}
		for _, l := range limits {
			if n := cmp.Or(l.RequestLimit, l.ReplyLimit); n != nil {
				served = min(served, int(*n))
			}
		}
	}
	var err error
	if p.SmallPipe > 0 && !p.NoSweep {
		err = d.growthIn(ctx, p.SmallPipe, served, sink)
	}
	if err == nil {
		err = d.sweepBeyond(ctx, rest, sink)
	}
	return err
}

// sweepBeyond measures sizes above a limit, which may be a hole, until one fails: each that does
// may take its whole deadline.
func (d *Driver) sweepBeyond(ctx context.Context, sizes []int, sink Sink) error {
	told := func(l results.Line) error {
		t, ok := l.(results.Target)
		if !ok || t.Served() || t.Size >= int64(sizes[len(sizes)-1]) {
			return sink(l)
		}
		warnIf(true, &t, "sizes above %s were not tried", stat.FormatBytes(t.Size))
		return sink(t)
	}
	_, err := d.sweep(ctx, sizes, told, true)
	return err
}

// errHalfTime ends a sweep that has had its share.
var errHalfTime = errors.New("half of the time is over")

// growthIn measures how time grows when the server can read only few bytes at a time.
func (d *Driver) growthIn(ctx context.Context, capacity, to int, sink Sink) error {
	to = min(to, growthTo)
	if to < 4*linearFrom || d.o.Capacity > 0 && d.o.Capacity <= capacity {
		return nil // too few sizes for a slope, or it has been measured
	}
	small := d.with(func(o *Options) { o.Capacity = capacity })
	defer small.Close()
	sizes := Doubling(linearFrom, 1<<int(math.Log2(float64(to))))
	sweep, err := small.Sweep(ctx, sizes, func(results.Line) error { return nil })
	if _, refused := errors.AsType[*syspipe.CapacityError](err); refused {
		t := d.record()
		warnIf(true, &t, "growth in small pipes was not measured: %v", err)
		return sink(t)
	}
	if err != nil || sweep.Growth == nil {
		return err
	}
	return sink(small.growthRecord(*sweep.Growth))
}

// with returns a driver of the same server, what is known of it included, with other options. It
// starts a server of its own.
func (d *Driver) with(change func(*Options)) *Driver {
	o := d.o
	if change != nil {
		change(&o)
	}
	return &Driver{o: o, protocol: d.protocol, ready: d.ready, refusal: d.refusal, paces: d.paces}
}

// Undecided returns an error if a recording was replayed of which no answer could be compared,
// because it is redacted.
func Undecided(set *results.Set) error {
	for _, t := range set.Targets {
		r := t.Evidence.Replay
		if r != nil && r.Undecided > 0 && r.Undecided == r.Compared {
			return errors.New(t.Evidence.Why)
		}
	}
	return nil
}

// AllFailed returns an error if sizes were tried and none was served, if some were not though no
// size is too large for the server, if it was not loaded at the rate that was asked for, or if a
// recording could not be replayed to its end or was answered otherwise.
func AllFailed(set *results.Set) error {
	var failed *results.Target
	works, searched, limited := false, false, false
	for _, t := range set.Targets {
		limit := t.SearchedTo == nil && t.Evidence.Limit != nil
		searched, limited = searched || t.SearchedTo != nil, limited || limit
		switch r := t.Evidence.Replay; {
		case r != nil && r.FailedAtMessage > 0:
			return fmt.Errorf("the replay ended at message %d: %s", r.FailedAtMessage, t.Verdict)
		case r != nil && r.Different > 0:
			return fmt.Errorf(
				"%d of %d answers are not as recorded: %s",
				r.Different,
				r.Compared,
				t.Evidence.Why,
			)
		case t.Verdict == string(Overloaded):
			return errors.New(t.Evidence.Why)
		case t.Served() && t.Size > 0:
			works = true
		case t.Size > 0:
			failed = &t
		}
		n := cmp.Or(t.SearchedTo, t.RequestLimit, t.ReplyLimit)
		works = works || n != nil && *n > 0
		if failed == nil && limit {
			failed = &t
		}
	}
	switch {
	case failed != nil && !works:
		return errors.New("the server fails at every size")
	case failed != nil && searched && !limited:
		return fmt.Errorf("the server fails, and not over a size: %s", afterRequests(*failed))
	}
	return nil
}

// afterRequests says how a server failed, and when, where it was not over a size.
func afterRequests(t results.Target) string {
	if f := t.Evidence.Failure; f != nil && f.ServedBefore > 0 {
		return fmt.Sprintf("%s after %d requests", t.Verdict, f.ServedBefore)
	}
	return t.Verdict
}

// A Want is what [Check] demands of a server, an assertion such as "p99<50ms@64KiB".
type Want string

// Limit demands that messages of so many bytes work, in both directions as far as they can be told
// apart.
func Limit(bytes int) Want { return Want(fmt.Sprintf("limit>=%d", bytes)) }

// Slope demands that time grows with the size of a message by less than this power: 1 is linear, 2
// quadratic; [stat.FastGrowth] is a good bound.
func Slope(below float64) Want { return Want(fmt.Sprintf("slope<%g", below)) }

// Assert demands what an assertion says.
func Assert(text string) Want { return Want(text) }

// checkTime bounds a Check whose test has no deadline of its own.
const checkTime = 5 * time.Minute

// Check drives the server that cmd starts, and fails the test if it does not do what is wanted, or,
// without wants, if it fails at any size from 1 KiB to 1 MiB. Of cmd its Args, Env and Dir are
// used; it is not started itself, and may be started several times in its place.
func Check(t testing.TB, cmd *exec.Cmd, wants ...Want) {
	t.Helper()
	p := Plan{SmallPipe: -1}
	var asserts []assert.Condition
	for _, w := range wants {
		a, err := assert.Parse(string(w))
		if err != nil {
			t.Errorf("drive %s: %v", cmd, err)
			return
		}
		asserts = append(asserts, a)
		switch {
		case a.Metric == "limit":
			p.Limits, p.LimitTo = true, max(p.LimitTo, int(a.Value))
			p.Sizes = append(p.Sizes, int(a.Value))
		case a.Metric == "slope":
			p.Sizes = append(p.Sizes, Doubling(linearFrom, 1<<20)...)
		case a.Size > 0:
			p.Sizes = append(p.Sizes, int(a.Size))
		}
		p.Demand(a)
	}
	set, err := check(t.Context(), cmd, p)
	if err != nil {
		t.Errorf("drive %s: %v", cmd, err)
		return
	}
	for _, a := range asserts {
		if j := a.Evaluate(set); j.Outcome != assert.Holds {
			t.Errorf("%s: %s: %s: %s", cmd, a.Text, j.Outcome, j.Why)
		}
	}
	for _, r := range set.Targets {
		if v := Verdict(r.Verdict); len(wants) == 0 && v != Superlinear && !r.Served() {
			t.Errorf("%s: %s: %s", cmd, view.TargetLine(r), v.Advice())
		}
	}
}

// check drives the server that cmd would start.
func check(ctx context.Context, cmd *exec.Cmd, p Plan) (*results.Set, error) {
	if len(p.Sizes) == 0 {
		p.Sizes = Doubling(1<<10, 1<<20)
	}
	slices.Sort(p.Sizes)
	p.Sizes = slices.Compact(p.Sizes)
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		checkTime,
		fmt.Errorf("not done after %s", checkTime),
	)
	defer cancel()
	// the program as it was found
	command := append([]string{cmd.Path}, cmd.Args[min(1, len(cmd.Args)):]...)
	d, err := Open(ctx, Options{Command: command, Env: cmd.Env, Dir: cmd.Dir, Run: "check"})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	set := new(results.Set)
	return set, d.Drive(ctx, p, func(l results.Line) error {
		set.Add(l)
		return nil
	})
}

// A Sink takes each record as it is finished. An error from it ends the work.
type Sink func(results.Line) error

// record begins a record about this server.
func (d *Driver) record() results.Target {
	t := results.Target{
		Kind: results.KindTarget, Run: d.o.Run, Time: time.Now().UTC(),
		Command: d.o.Command, Protocol: d.speaks(), Verdict: string(OK),
		Evidence: results.TargetEvidence{
			Server: &results.ServerEvidence{
				Spoken: d.Protocol(), Framing: d.Framing(), Pipe: string(d.o.Pipe),
				Request: d.Request(), WriteChunk: d.o.WriteChunk, WritePause: int64(d.o.WritePause),
			},
			Capacity: d.o.Capacity,
		},
	}
	warnIf(
		d.failedStarts > 0,
		&t,
		"%d starts of the server after a failure came to nothing, and the next did not",
		d.failedStarts,
	)
	d.failedStarts = 0
	return t
}

// warnIf adds a warning to a record where there is reason to.
func warnIf(so bool, t *results.Target, format string, args ...any) {
	if so {
		t.Warnings = append(t.Warnings, fmt.Sprintf(format, args...))
	}
}

// setFailure makes t the record of a request that was not served.
func setFailure(t *results.Target, out outcome) {
	setVerdict(t, out.verdict)
	t.Evidence.Failure, t.Evidence.Why = out.evidence, out.why
}

func setVerdict(t *results.Target, v Verdict) {
	t.Verdict, t.Evidence.Advice = string(v), v.Advice()
}

// Doubling lists the sizes from one to another, each twice the one before, the last included
// whatever it is.
func Doubling(from, to int) []int {
	var sizes []int
	for n := max(1, from); n < to; n *= 2 {
		sizes = append(sizes, n)
	}
	return append(sizes, to)
}

// A Verdict is how a server met a request. Two of them carry a number: "exit 3", "signal SIGKILL".
type Verdict string

// Verdicts.
const (
	OK Verdict = results.VerdictOK
	// answered, in over ten times what its neighbours in size suggest
	Slow       Verdict = results.VerdictSlow
	ErrorReply Verdict = results.VerdictErrorReply // answered with an error
	// lives and answers others; this request got nothing
	Unanswered Verdict = "unanswered"
	Deaf       Verdict = "deaf" // lives and answers nothing
	// both ends wait to write into a pipe that the other does not read
	Deadlock  Verdict = "deadlock"
	Corrupt   Verdict = "corrupt"   // the answer is not what was sent
	Truncated Verdict = "truncated" // the answer ends too early
	Buffered  Verdict = "answers only at the end of input"
	Endless   Verdict = "endless answer" // no end of a message within [Options.MaxReply]
	// of a load: requests that were due could not be sent
	Overloaded Verdict = "rate not reached"
	Differs    Verdict = "differs"     // of a replay: answers are not as recorded
	CannotTell Verdict = "cannot-tell" // of a replay: what was recorded is redacted

	// Superlinear is of a whole sweep: time grows faster than size, and not by chance.
	Superlinear Verdict = results.VerdictSuperlinear
)

const (
	exitPrefix   = "exit "
	signalPrefix = "signal "
)

// Ended reports whether the server's process ended over the request.
func (v Verdict) Ended() bool {
	return strings.HasPrefix(string(v), exitPrefix) || strings.HasPrefix(string(v), signalPrefix)
}

//go:embed advice.txt
var adviceText string

// advice is what to look at first, by verdict; that of a server which could not be spoken to stands
// behind the word handshake.
var advice = catalogue.Texts(adviceText)

// Advice says what a verdict usually means and what to look at first; "" for one that needs none.
func (v Verdict) Advice() string {
	word, _, _ := strings.Cut(string(v), " ") // of "exit 3" and "signal SIGKILL"
	return cmp.Or(advice()[string(v)], advice()[word])
}
