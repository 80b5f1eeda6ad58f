package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
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
	defer d.heed(ctx)()
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
	kind := toolRequest
	if d.o.Request == RequestAuto {
		kind = transportRequest
	}
	err := f.search(ctx, requestSide, f.sized(kind), f.most)
	byTool := kind == toolRequest || !p.tools() // else another method was searched
	if err == nil && p.tools() {
		var echoed bool
		echoed, err = f.searchReplies(ctx)
		byTool = byTool || echoed
	}
	if !byTool && !f.limited() && (d.o.Tool != "" || d.toolFails || d.failure != "") {
		// what the refused method says is not said of the tool, though the time may be over
		f.found = slices.DeleteFunc(f.found, isOfRequests)
		if err == nil {
			err = f.search(ctx, requestSide, f.sized(toolRequest), f.most)
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
func (f *limitFinder) sized(kind requestKind) func(int) *requestTemplate {
	return func(size int) *requestTemplate { return f.d.request(kind, size) }
}

// search searches one side, and keeps what it found.
func (f *limitFinder) search(
	ctx context.Context, side string, tries func(int) *requestTemplate, most int,
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
	bySize := p.demand != nil
	if p.echoes && d.o.ReplyTool == "" {
		most := f.most
		if n := f.found[0].RequestLimit; n != nil {
			most = int(*n)
		}
		if err := f.search(ctx, replySide, f.sized(toolRequest), most); err != nil {
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
		err = f.search(ctx, replySide, p.demand, f.most)
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
	warnIf(
		*t.SearchedTo >= int64(f.most),
		t,
		"the failure in the sweep is not one of size, since all sizes work when tried again: %s",
		f.d.failure,
	)
}

// A search is the sizes that were tried so far, and what came of them.
type search struct {
	d    *Driver
	make func(size int) *requestTemplate // a request that tries a size
	side string
	most int // bytes, up to which it is to go
	// of a size each, with that of the message that the limit is about: request or reply
	tried map[int]outcome
	flaky string // the failure of a size that works, too, if there is one
	once  string // such a failure, which a search before this one met

	good, bad int // the largest size that works below the smallest that failed; 0 if none did
}

// findLimit searches one side up to most bytes. When ctx ends it returns what is known by then,
// which may be nothing, beside the error.
func (d *Driver) findLimit(
	ctx context.Context,
	side string,
	tries func(int) *requestTemplate,
	most int,
) (results.Target, error) {
	s := &search{d: d, make: tries, side: side, most: most}
	err := s.run(ctx)
	if err == nil && s.flaky != "" { // which a busy machine may be to blame for
		again := &search{d: d, make: tries, side: side, most: most, once: s.flaky}
		if err = again.run(ctx); err == nil {
			s = again
		}
	}
	if err != nil && (ctx.Err() == nil || s.good == 0) {
		return results.Target{}, err
	}
	return s.record(), err
}

// run looks for the limit from the smallest size on, and makes sure of it.
func (s *search) run(ctx context.Context) error {
	s.tried = map[int]outcome{}
	err := s.double(ctx)
	if err != nil || s.bad == 0 {
		return err
	}
	if err := s.bisect(ctx); err != nil {
		return err
	}
	return s.verify(ctx)
}

// try tries a size, whether it was tried before or not.
func (s *search) try(ctx context.Context, size int) (works bool, err error) {
	s.d.o.Observe(
		fmt.Sprintf("the limit of a %s: trying %s", s.side, stat.FormatBytes(int64(size))),
	)
	out, err := s.d.roundTrip(ctx, s.make(size), int64(len(s.tried)+1))
	if err == nil && out.verdict == OK {
		err = s.d.checkAlive(ctx, &out)
	}
	if err != nil {
		return false, err
	}
	if s.side == requestSide {
		out.size = size
	}
	s.tried[size] = out
	return out.verdict == OK, nil
}

// narrow tries a size, and makes it the one end of the search or the other.
func (s *search) narrow(ctx context.Context, size int) error {
	works, err := s.try(ctx, size)
	if err != nil {
		return err
	}
	if works {
		s.good = size
	} else {
		s.bad = size
	}
	return nil
}

// double tries doubling sizes, from the smallest request on, until one fails.
func (s *search) double(ctx context.Context) error {
	smallest := s.make(0)
	for _, size := range Doubling(1<<10, s.most) {
		if s.bad > 0 || size < len(smallest.msg) && smallest.demands == 0 {
			continue
		}
		if err := s.narrow(ctx, size); err != nil {
			return err
		}
	}
	return nil
}

// bisect closes in on the last size that works, between one that does and one that does not.
func (s *search) bisect(ctx context.Context) error {
	if s.good == 0 {
		smallest := len(s.d.smallest(transportRequest).msg)
		works, err := s.try(ctx, smallest)
		if err != nil || !works {
			return err
		}
		s.good = smallest
	}
	// the round sizes between the two, each with its neighbours: N bytes, N with the terminator, N
	// exclusive. They are tried first, since a wrong guess costs no more than a step of bisection
	// that is a little off the middle
	between := stat.Filter(roundSizes, func(n int) bool { return n+1 > s.good && n-2 < s.bad })
	middle := math.Sqrt(float64(s.good) * float64(s.bad))
	slices.SortFunc(between, func(a, b int) int {
		return int(math.Abs(float64(a)-middle) - math.Abs(float64(b)-middle))
	})
	var guesses []int
	for _, n := range between {
		guesses = append(guesses, n, n-1, n+1, n-2)
	}
	for s.bad-s.good > 1 {
		size := s.good + (s.bad-s.good)/2
		guesses = slices.DeleteFunc(guesses, func(n int) bool { return n <= s.good || n >= s.bad })
		if len(guesses) > 0 {
			size = guesses[0]
		}
		if err := s.narrow(ctx, size); err != nil {
			return err
		}
	}
	return nil
}

// beyond is how many sizes are tried above the limit, up to most, to see whether it is one or a
// hole.
const beyond = 2

// verify tries the limit, the size behind it, and twice the limit again: a failure that is not met
// a second time is not the size's. Then it looks beyond.
func (s *search) verify(ctx context.Context) error {
	first := s.tried[s.bad]
	sizes := stat.Filter(Doubling(1<<10, s.most), func(size int) bool { return size > 2*s.good })
	sizes = sizes[:min(len(sizes), beyond)]
	sizes = slices.DeleteFunc(sizes, func(size int) bool { return s.tried[size].verdict != "" })
	if s.good > 0 {
		sizes = slices.Concat([]int{s.good, s.bad, 2 * s.good}, sizes)
	}
	for _, size := range sizes {
		if _, err := s.try(ctx, size); err != nil {
			return err
		}
	}
	if s.good == 0 {
		return nil
	}
	failure := func(size int) string {
		return fmt.Sprintf("%s: %s", stat.FormatBytes(int64(size)), s.tried[size].verdict)
	}
	if s.tried[s.good].verdict != OK {
		s.flaky = failure(s.good)
	}
	if s.tried[s.bad].verdict == OK {
		s.tried[s.bad] = first
		s.flaky = failure(s.bad)
	}
	return nil
}

// roundSizes are those at which programmers put limits.
var roundSizes = []int{
	1e3, 1e4, 1e5, 1e6, 1e7, 5e7,
	4 << 10, 8 << 10, 10 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10,
	1 << 20, 2 << 20, 4 << 20, 5 << 20, 8 << 20, 10 << 20, 16 << 20, 20 << 20, 32 << 20,
	50 << 20, 64 << 20, 100 << 20,
}

// record sums the search up.
func (s *search) record() results.Target {
	t := s.d.record()
	e := &results.LimitEvidence{
		Side: s.side, Tried: len(s.tried), FailedAt: s.bad, Flaky: s.flaky != "",
	}
	t.Evidence.Limit = e
	warnIf(
		s.once != "" && s.flaky == "",
		&t,
		"a failure was met that did not come again: %s",
		s.once,
	)
	largest := int64(s.tried[s.good].size)
	warnIf(
		s.side == requestSide && s.d.unswept > 0,
		&t,
		"above %s nothing but the limit was measured: the time was too short for more",
		stat.FormatBytes(int64(s.d.unswept)),
	)
	if s.bad == 0 {
		t.SearchedTo = &largest
		warnIf(s.good < s.most, &t, "the search was cut short: larger ones were not tried")
		return t
	}
	setFailure(&t, s.tried[s.bad])
	good := s.make(s.good)
	t.Evidence.Size = &results.SizeEvidence{
		PayloadBytes: cmp.Or(good.demands, good.to-good.from),
	}
	e.AtTwice = string(s.tried[2*s.good].verdict)
	if s.side == requestSide {
		t.RequestLimit = &largest
	} else {
		t.ReplyLimit = &largest
	}
	for size, out := range s.tried {
		if size > s.bad && out.verdict == OK {
			e.Uneven = append(e.Uneven, out.size)
		}
	}
	slices.Sort(e.Uneven)
	warnIf(
		s.bad-s.good > 1 && s.good > 0,
		&t,
		"the search was cut short: the exact byte of the limit was not found",
	)
	warnIf(
		s.flaky != "",
		&t,
		"tried again, the limit did not hold: the failure depends on more than the size",
	)
	if len(e.Uneven) > 0 {
		warnIf(
			true,
			&t,
			"larger sizes worked (%s first): this is where it failed first, not a limit",
			stat.FormatBytes(int64(e.Uneven[0])),
		)
	}
	return t
}
