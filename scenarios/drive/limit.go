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
// each, or 64 MiB if that is 0: in coarse steps first, then to the byte. The limit of requests is
// searched with a method that the server refuses, the shortest way through a server. It is searched
// with the tool instead if another request or a tool was asked for, or if the tool does not echo
// and has failed before. The limit of replies is searched with an echo up to the largest request
// that works. Beyond that it is searched with a tool that makes as many bytes as it is asked for,
// if there is one.
//
// Each limit is a record. It has the largest message that works, in RequestLimit or ReplyLimit, and
// the verdict on one byte more. If no size failed, it has the largest size that was tried, in
// SearchedTo.
func (d *Driver) FindLimits(ctx context.Context, most int, sink Sink) ([]results.Target, error) {
	most = cmp.Or(most, defaultTo)
	found, err := d.searchBoth(ctx, most)
	if err == nil {
		d.warnOfFailure(found, most)
	}
	for _, t := range found {
		err = errors.Join(err, sink(t))
	}
	return found, err
}

// searchBoth searches requests, then replies.
func (d *Driver) searchBoth(ctx context.Context, most int) ([]results.Target, error) {
	p := d.protocol
	kind := target.Transport
	failed := p.ToolFails || d.failure != "" && !p.Echoes
	if d.o.Request != RequestAuto || d.o.Tool != "" || failed {
		kind = target.Tool
	}
	found, err := d.search(ctx, nil, requestSide, d.sized(kind), most)
	if err != nil || !p.HasTools() {
		return found, err
	}
	bySize := p.Demand != nil
	if p.Echoes && d.o.ReplyTool == "" {
		fits := most
		if n := found[0].RequestLimit; n != nil {
			fits = int(*n)
		}
		found, err = d.search(ctx, found, replySide, d.sized(target.Tool), fits)
		if err != nil {
			return found, err
		}
		last := &found[len(found)-1]
		last.Evidence.Limit.ByRequests = fits < most && last.SearchedTo != nil
		bySize = bySize && fits < most && last.ReplyLimit == nil
		if bySize { // the search below goes further, so its record takes the place of this one
			found = found[:len(found)-1]
		}
	}
	if bySize {
		return d.search(ctx, found, replySide, p.Demand, most)
	}
	return found, nil
}

// sized makes requests of a kind by their size.
func (d *Driver) sized(kind target.Kind) func(int) *target.Request {
	return func(size int) *target.Request { return d.protocol.Request(kind, size) }
}

// warnOfFailure warns that size did not cause the failure in the sweep, if every size works when it
// is tried again.
func (d *Driver) warnOfFailure(found []results.Target, most int) {
	if d.failure == "" {
		return
	}
	for _, t := range found {
		if t.SearchedTo == nil {
			return
		}
	}
	if *found[0].SearchedTo >= int64(most) {
		warn(&found[0], "the failure in the sweep is not one of size, "+
			"since all sizes work when tried again: %s", d.failure)
	}
}

// A search holds the sizes that were tried so far, and the outcome of each.
type search struct {
	target.Search
	d     *Driver
	make  func(size int) *target.Request // a request that tries a size
	side  string
	tried map[int]target.Outcome // by size
	flaky bool                   // the largest size that works failed, too, when it was tried again
}

// search searches one side up to most bytes, and appends its record to found. If ctx ends first, it
// appends what is known by then, if anything, and returns the error, too.
func (d *Driver) search(
	ctx context.Context, found []results.Target, side string,
	tries func(int) *target.Request, most int,
) ([]results.Target, error) {
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
		return found, err
	}
	return append(found, s.record()), err
}

// try tries a size, whether it was tried before or not. A size that fails is tried once more, and
// only the second outcome counts: a busy machine may have caused the first failure.
func (s *search) try(ctx context.Context, size int) (works bool, err error) {
	s.d.observe(
		fmt.Sprintf("the limit of a %s: trying %s", s.side, stat.FormatBytes(int64(size))),
	)
	out, err := s.once(ctx, size)
	if err == nil && out.Verdict != target.OK {
		out, err = s.once(ctx, size)
	}
	if err != nil {
		return false, err
	}
	s.tried[size] = out
	return out.Verdict == target.OK, nil
}

// once sends a request of a size. The Size of the outcome is that of the request in a search for
// the limit of requests, else that of the reply.
func (s *search) once(ctx context.Context, size int) (target.Outcome, error) {
	out, err := s.d.trip(ctx, s.make(size), int64(len(s.tried)+1))
	if err == nil && out.Verdict == target.OK {
		err = s.d.checkAlive(ctx, &out)
	}
	if s.side == requestSide {
		out.Size = size
	}
	return out, err
}

// beyond is how many sizes above a limit are tried, none above most: if they work, the limit is
// only a gap in the sizes that work.
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

// losesRead reports whether a server may have failed because it takes each read for a message: the
// limit is near what one read takes from a full pipe, and the server ignored the message, or ended.
func losesRead(t results.Target) bool {
	const oneRead, framing = 64 << 10, 64
	v := target.Verdict(t.Verdict)
	away := *t.RequestLimit - oneRead
	return (v == target.Unanswered || v.Ended()) && -framing <= away && away <= framing
}

// record sums the search up.
func (s *search) record() results.Target {
	t := s.d.record()
	e := &results.LimitEvidence{Side: s.side, FailedAt: s.High, Flaky: s.flaky}
	t.Evidence.Limit = e
	largest := int64(s.tried[s.Low].Size)
	if s.side == requestSide && s.d.unswept > 0 {
		warn(&t, "above %s nothing but the limit was measured: the time was too short for more",
			stat.FormatBytes(int64(s.d.unswept)))
	}
	if s.High == 0 {
		t.SearchedTo = &largest
		if s.Low < s.Most {
			e.CutShort = true
			warn(&t, "the search was cut short: larger ones were not tried")
		}
		return t
	}
	if s.side == requestSide {
		t.RequestLimit = &largest
	} else {
		t.ReplyLimit = &largest
	}
	s.d.setFailure(&t, s.tried[s.High], s.High)
	good := s.make(s.Low)
	t.Evidence.Size = &results.SizeEvidence{
		PayloadBytes: cmp.Or(good.Demands, len(good.Payload())),
	}
	e.AtTwice = string(s.tried[2*s.Low].Verdict)
	for size, out := range s.tried {
		if size > s.High && out.Verdict == target.OK {
			e.Uneven = append(e.Uneven, out.Size)
		}
	}
	slices.Sort(e.Uneven)
	if s.High-s.Low > 1 && s.Low > 0 {
		e.CutShort = true
		warn(&t, "the search was cut short: the limit is known to %s; to find the exact byte, "+
			"run %s", stat.FormatBytes(int64(s.High-s.Low)),
			s.d.o.commandLine(s.Most, "--find-limit", "--max-time", "30m"))
	}
	if s.side == requestSide && losesRead(t) {
		warn(&t, "65,536 B is no limit of a pipe: one read takes so much from a full one. The "+
			"server may take each read for a whole message, or keep no more than 64 KiB of one: "+
			"pipebench check --server --only trickle can tell")
	}
	if s.flaky {
		warn(&t, "tried again, it broke elsewhere or not at all: more than the size is to blame")
	}
	if len(e.Uneven) > 0 {
		warn(&t, "larger sizes worked (%s first): this is where it failed first, not a limit",
			stat.FormatBytes(int64(e.Uneven[0])))
	}
	return t
}
