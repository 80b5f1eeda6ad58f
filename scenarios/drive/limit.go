package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// Sides of a limit.
const (
	requestSide = "request"
	replySide   = "reply"
)

// FindLimits searches for the largest request and the largest reply that work, up to most bytes
// each: in coarse steps first, then to the byte. Requests are measured by the way that stops
// soonest, a method that the server refuses, unless another was asked for. Replies are measured by
// an echo as far as requests go, and beyond by a tool that makes as many bytes as it is asked for,
// if there is one. If neither finds a limit, requests of a tool that was named, or that failed
// before, are searched too: what the refused method says is not said of them.
//
// Each limit is a record: with the largest message that works, in RequestLimit or ReplyLimit, and
// the verdict on one byte more, or with SearchedTo, up to where there is none.
func (d *Driver) FindLimits(ctx context.Context, most int, sink Sink) ([]results.Target, error) {
	f := &limitFinder{d: d, most: most}
	err := f.find(ctx)
	for i := range f.found {
		err = errors.Join(err, sink(f.found[i]))
	}
	return f.found, err
}

// A limitFinder searches both sides for their limits.
type limitFinder struct {
	d     *Driver
	most  int
	found []results.Target
}

func (f *limitFinder) find(ctx context.Context) error {
	d, p := f.d, f.d.protocol
	kind := target.Tool
	if d.o.Request == RequestAuto {
		kind = target.Transport
	}
	err := f.search(ctx, requestSide, f.sized(kind), f.most)
	byTool := kind == target.Tool || !p.HasTools() // else another method was searched
	if err == nil && p.HasTools() {
		var echoed bool
		echoed, err = f.searchReplies(ctx)
		byTool = byTool || echoed
	}
	if !byTool && !f.limited() && (d.o.Tool != "" || p.ToolFails || d.failure != "") {
		// what the refused method says is not said of the tool, though the time may be over
		f.found = slices.DeleteFunc(f.found, isOfRequests)
		if err == nil {
			err = f.search(ctx, requestSide, f.sized(target.Tool), f.most)
		}
	}
	if err != nil {
		return err
	}
	f.warnOfFailure()
	return nil
}

func isOfRequests(t results.Target) bool { return t.Evidence.Limit.Side == requestSide }

// sized makes requests of a kind by their size.
func (f *limitFinder) sized(kind target.Kind) func(int) *target.Request {
	return func(size int) *target.Request { return f.d.protocol.Request(kind, size) }
}

// search searches one side, and keeps what it found.
func (f *limitFinder) search(
	ctx context.Context, side string, tries func(int) *target.Request, most int,
) error {
	t, err := f.d.findLimit(ctx, side, tries, most)
	if t.Kind != "" {
		f.found = append(f.found, t)
	}
	return err
}

// searchReplies searches for the limit of replies, if there is a tool that shows it. It reports
// whether that was the tool that requests call, with requests of every size up to most.
func (f *limitFinder) searchReplies(ctx context.Context) (echoed bool, err error) {
	d, p := f.d, f.d.protocol
	bySize := p.Demand != nil
	if p.Echoes && d.o.ReplyTool == "" {
		most := f.most
		if n := f.found[0].RequestLimit; n != nil {
			most = int(*n)
		}
		if err := f.search(ctx, replySide, f.sized(target.Tool), most); err != nil {
			return false, err
		}
		echoed = true
		last := len(f.found) - 1
		f.found[last].Evidence.Limit.ByRequests = most < f.most && f.found[last].SearchedTo != nil
		bySize = bySize && most < f.most && f.found[last].ReplyLimit == nil
		if bySize { // the next search goes further, and says more
			f.found = f.found[:last]
		}
	}
	if bySize {
		err = f.search(ctx, replySide, p.Demand, f.most)
	}
	return echoed, err
}

// limited reports whether a limit was found.
func (f *limitFinder) limited() bool {
	return slices.ContainsFunc(f.found, func(t results.Target) bool { return t.SearchedTo == nil })
}

// warnOfFailure says of a failure in the sweep that it was not one of size, if every size works
// with the same requests.
func (f *limitFinder) warnOfFailure() {
	if f.d.failure == "" || f.limited() {
		return
	}
	t := &f.found[0]
	if *t.SearchedTo >= int64(f.most) {
		warn(t, "the failure in the sweep is not one of size, "+
			"since all sizes work when tried again: %s", f.d.failure)
	}
}

// A search is the sizes that were tried so far, and what came of them.
type search struct {
	target.Search
	d     *Driver
	make  func(size int) *target.Request // a request that tries a size
	side  string
	tried map[int]target.Outcome // of a size each
	flaky bool                   // the largest size that works failed, too, when it was tried again
}

// findLimit searches one side up to most bytes. When ctx ends it returns what is known by then,
// which may be nothing, beside the error.
func (d *Driver) findLimit(
	ctx context.Context, side string, tries func(int) *target.Request, most int,
) (results.Target, error) {
	s := &search{d: d, make: tries, side: side, tried: map[int]target.Outcome{}}
	s.First = 1 << 10
	s.Factor = 2
	s.Most = most
	s.Least = d.protocol.Smallest(target.Transport).Size()
	smallest := tries(0)
	for smallest.Demands == 0 && s.First < smallest.Size() {
		s.First *= 2
	}
	err := s.Run(time.Time{}, func(size int) (bool, error) { return s.try(ctx, size) })
	if err == nil && s.High > 0 {
		err = s.verify(ctx)
	}
	if err != nil && (ctx.Err() == nil || s.Low == 0) {
		return results.Target{}, err
	}
	return s.record(), err
}

// try tries a size, whether it was tried before or not. A failure that does not come a second time
// is not the size's: a busy machine may be to blame.
func (s *search) try(ctx context.Context, size int) (works bool, err error) {
	s.d.o.Observe(
		fmt.Sprintf("the limit of a %s: trying %s", s.side, stat.FormatBytes(int64(size))),
	)
	out, err := s.once(ctx, size)
	if err == nil && out.Verdict != OK {
		out, err = s.once(ctx, size)
	}
	if err != nil {
		return false, err
	}
	s.tried[size] = out
	return out.Verdict == OK, nil
}

// once sends a request of a size. The outcome has the size of the message that the limit is about:
// request or reply.
func (s *search) once(ctx context.Context, size int) (target.Outcome, error) {
	out, err := s.d.trip(ctx, s.make(size), int64(len(s.tried)+1))
	if err == nil && out.Verdict == OK {
		err = s.d.checkAlive(ctx, &out)
	}
	if s.side == requestSide {
		out.Size = size
	}
	return out, err
}

// beyond is how many sizes are tried above the limit, up to most, to see whether it is one or a
// hole.
const beyond = 2

// verify tries the limit again, and sizes beyond it.
func (s *search) verify(ctx context.Context) error {
	var sizes []int
	if s.Low > 0 {
		sizes = append(sizes, s.Low, 2*s.Low)
	}
	looked := 0
	for _, size := range Doubling(1<<10, s.Most) {
		if size <= 2*s.Low || looked == beyond {
			continue
		}
		looked++
		if s.tried[size].Verdict == "" {
			sizes = append(sizes, size)
		}
	}
	for _, size := range sizes {
		works, err := s.try(ctx, size)
		if err != nil {
			return err
		}
		s.flaky = s.flaky || size == s.Low && !works
	}
	return nil
}

// record sums the search up.
func (s *search) record() results.Target {
	t := s.d.record()
	e := &results.LimitEvidence{
		Side: s.side, Tried: len(s.tried), FailedAt: s.High, Flaky: s.flaky,
	}
	t.Evidence.Limit = e
	largest := int64(s.tried[s.Low].Size)
	if s.side == requestSide && s.d.unswept > 0 {
		warn(&t, "above %s nothing but the limit was measured: the time was too short for more",
			stat.FormatBytes(int64(s.d.unswept)))
	}
	if s.High == 0 {
		t.SearchedTo = &largest
		if s.Low < s.Most {
			warn(&t, "the search was cut short: larger ones were not tried")
		}
		return t
	}
	if s.side == requestSide {
		t.RequestLimit = &largest
	} else {
		t.ReplyLimit = &largest
	}
	setFailure(&t, s.tried[s.High])
	good := s.make(s.Low)
	t.Evidence.Size = &results.SizeEvidence{
		PayloadBytes: cmp.Or(good.Demands, len(good.Payload())),
	}
	e.AtTwice = string(s.tried[2*s.Low].Verdict)
	for size, out := range s.tried {
		if size > s.High && out.Verdict == OK {
			e.Uneven = append(e.Uneven, out.Size)
		}
	}
	slices.Sort(e.Uneven)
	if s.High-s.Low > 1 && s.Low > 0 {
		warn(&t, "the search was cut short: the exact byte of the limit was not found")
	}
	if s.flaky {
		warn(&t, "tried again, the limit did not hold: the failure depends on more than the size")
	}
	if len(e.Uneven) > 0 {
		warn(&t, "larger sizes worked (%s first): this is where it failed first, not a limit",
			stat.FormatBytes(int64(e.Uneven[0])))
	}
	return t
}
