package drive

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe"
)

// A Plan says what to find out about a server. The zero Plan measures how the server's CPU time
// grows with the size of a message, and where and how the server breaks.
type Plan struct {
	Sizes []int // to measure, ascending; nil is 1 KiB to 64 MiB, each twice the one before
	// Limits is whether to search for the limits to the byte, even if no size failed in the sweep
	// and no tool makes larger replies than the sweep sees.
	Limits bool
	// SmallPipe is the capacity, in bytes, of small pipes. How time grows with message size is
	// measured again in these pipes. 0 means 4 KiB, and a negative number leaves this out, as does
	// a single size.
	SmallPipe int

	least map[int]int64 // how many round trips to make at least, by size; set by Demand
}

// Demand makes Drive measure a size until it has made this many round trips, but for half a minute
// at most.
func (p *Plan) Demand(size int, trips int64) {
	if size <= 0 || trips == 0 {
		return
	}
	if p.least == nil {
		p.least = map[int]int64{}
	}
	p.least[size] = max(p.least[size], trips)
}

// demandTime is the longest time for which Demand can make Drive measure one size.
const demandTime = 30 * time.Second

const (
	defaultFrom      = 1 << 10
	defaultTo        = 64 << 20
	defaultSmallPipe = 4 << 10
	growthTo         = 8 << 20 // in small pipes: if growth is quadratic, 64 MiB would take minutes
)

// Drive does what the plan asks for, and gives each record to sink as soon as it is complete. If
// ctx has a deadline, the sweep over the sizes gets half of the time.
func (d *Driver) Drive(ctx context.Context, p Plan, sink Sink) error {
	sizes := p.Sizes
	if len(sizes) == 0 {
		sizes = Doubling(defaultFrom, defaultTo)
	}
	d.demanded = p.least
	found, err := d.firstSweep(ctx, sizes, sink)
	sweep := results.ReachOf(found)
	ofNoSize := sweep.Failed != nil && sweep.Failed.Evidence.Failure.IsOfNoSize()
	needsLimits := p.Limits || d.needsReplies() || d.sweepCut || d.sweepFailed
	if err == nil && needsLimits && !ofNoSize {
		var limits []results.Target
		limits, err = d.FindLimits(ctx, sizes[len(sizes)-1], sink)
		found = append(found, limits...)
	}
	// write records of the sizes that were not tried, even if the time is over
	if err == nil || ctx.Err() != nil {
		err = errors.Join(err, d.keepNotTried(ctx, p.Sizes, results.ReachOf(found), sink))
	}
	smallPipe := cmp.Or(p.SmallPipe, defaultSmallPipe)
	if err != nil || smallPipe < 0 || ofNoSize || len(sizes) == 1 {
		return err
	}
	works := sweep.Served
	if limited := results.ReachOf(found).Limited(); limited != nil {
		works = min(works, *limited.Limit())
	}
	return d.growthIn(ctx, smallPipe, int(works), sink)
}

// needsReplies reports whether large replies remain to be asked of a tool that the sweep does not
// call: one that the user named, or one that makes bytes if the sweep calls no tool at all.
func (d *Driver) needsReplies() bool {
	if d.options.ReplyTool != "" {
		return true
	}
	p := d.protocol
	return p.Demand != nil && !p.CallsTool() && d.options.Request != RequestUnknown
}

// keepNotTried gives sink a record of each size that was asked for and never tried, and why. A size
// that failed counts for all larger ones.
func (d *Driver) keepNotTried(
	ctx context.Context, sizes []int, r results.Reach, sink Sink,
) error {
	if r.Failed != nil || len(r.Limits) > 0 {
		return nil
	}
	why := "the time was over"
	if ctx.Err() == context.Canceled {
		why = "it was interrupted"
		if len(sizes) == 0 && r.Served > 0 && r.Served < defaultTo {
			sizes = []int{2 * int(r.Served)} // stands for all larger ones, too
		}
	}
	for _, size := range sizes {
		if int64(size) <= r.Served {
			continue
		}
		t := d.record()
		t.Size = int64(size)
		t.Verdict = results.VerdictNotTried
		t.Evidence.Why = why
		if err := sink(t); err != nil {
			return err
		}
	}
	return nil
}

var errHalfTime = errors.New("half of the time is over")

// firstSweep measures one size after the other, up to the first size that fails, or until half of
// the time is over. It sets d.sweepFailed and d.sweepCut.
func (d *Driver) firstSweep(
	ctx context.Context, sizes []int, sink Sink,
) ([]results.Target, error) {
	half := ctx
	end, ok := ctx.Deadline()
	if ok {
		var cancel context.CancelFunc
		half, cancel = context.WithTimeoutCause(ctx, time.Until(end)/2, errHalfTime)
		defer cancel()
	}
	sweep, err := d.Sweep(half, sizes, sink)
	if sweep.Growth != nil { // from the sizes that were measured, even if time is over
		err = errors.Join(err, sink(d.growthRecord(*sweep.Growth)))
	}
	d.sweepFailed = results.ReachOf(sweep.Targets).Failed != nil
	d.sweepCut = errors.Is(err, errHalfTime)
	if d.sweepCut {
		err = nil
	}
	return sweep.Targets, err
}

// growthIn measures how time grows with message size, up to most bytes, in pipes of capacity bytes.
// It starts another process of the server for this.
func (d *Driver) growthIn(ctx context.Context, capacity, most int, sink Sink) error {
	most = min(most, growthTo)
	fewSizes := most < 4*stat.LinearFrom // too few for a slope
	wasSmall := d.options.Capacity > 0 && d.options.Capacity <= capacity
	if fewSizes || wasSmall {
		return nil
	}
	small := &Driver{
		options: d.options, target: d.target, protocol: d.protocol, warned: d.warned,
	}
	small.options.Capacity = capacity
	small.target.Pipes.Capacity = capacity
	defer small.end(true /* politely */)
	largest := 1 << int(math.Log2(float64(most))) // a power of two, as all sizes are
	sizes := Doubling(stat.LinearFrom, largest)
	sweep, err := small.Sweep(ctx, sizes, func(results.Line) error { return nil })
	if ctx.Err() != nil { // no time is left to wait for a server that may stay
		d.end(false /* politely */)
	}
	if _, refused := errors.AsType[*syspipe.CapacityError](err); refused {
		t := d.record()
		warn(&t, "growth in small pipes was not measured: %v", err)
		return sink(t)
	}
	if err != nil || sweep.Growth == nil {
		return err
	}
	return sink(small.growthRecord(*sweep.Growth))
}

// Doubling lists sizes from first to last. Each is twice the one before, but the list always ends
// with last.
func Doubling(first, last int) []int {
	var sizes []int
	for n := max(1, first); n < last; n *= 2 {
		sizes = append(sizes, n)
	}
	return append(sizes, last)
}
