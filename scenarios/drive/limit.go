package drive

import (
	"cmp"
	"context"
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

// A SizeLimit is the largest message that a server takes, or gives.
type SizeLimit struct {
	Side       string  // "request" or "reply"
	Bytes      int     // the largest message that works
	Payload    int     // the payload in it
	Above      Verdict // what one byte more meets; "" where no limit was found
	SearchedTo int     // no limit up to here; 0 where one was found

	// Uneven holds larger sizes that worked although a smaller one failed: then the limit is only
	// where it failed first.
	Uneven []int
	Flaky  bool // the limit, tried again, was none
	Tried  int  // sizes that were tried
}

// Found reports whether there is a limit.
func (l SizeLimit) Found() bool { return l.Above != "" }

// FindLimits searches for the largest request and the largest reply that work, up to most bytes
// each: in coarse steps first, then to the byte. Requests are measured by the way that stops
// soonest, a method that the server refuses, unless another was asked for; replies by an echo as
// far as requests go, and beyond by a tool that makes as many bytes as it is asked for, where there
// is one.
func (d *Driver) FindLimits(ctx context.Context, most int, sink Sink) ([]SizeLimit, error) {
	kind := toolRequest
	if d.o.Request == RequestAuto {
		kind = transportRequest
	}
	ofKind := func(kind requestKind) func(int) *requestTemplate {
		return func(size int) *requestTemplate { return d.request(kind, size) }
	}
	request, err := d.findLimit(ctx, requestSide, ofKind(kind), most, sink)
	if err != nil {
		return nil, err
	}
	limits := []SizeLimit{request}
	m, isMCP := d.protocol.(*mcp)
	if !isMCP {
		return limits, nil
	}
	echoed := most
	if request.Found() {
		echoed = request.Bytes
	}
	if m.echoes && m.replies.name == "" {
		beyond := m.sized.name != "" && echoed < most
		echo, err := d.findLimit(ctx, replySide, ofKind(toolRequest), echoed, func(l results.Line) error {
			if t := l.(results.Target); t.ReplyLimit == nil && beyond {
				return nil // the other tool says more
			}
			return sink(l)
		})
		if err != nil || echo.Found() || !beyond {
			return append(limits, echo), err
		}
	}
	if m.sized.name == "" {
		return limits, nil
	}
	reply, err := d.findLimit(ctx, replySide, m.demand, most, sink)
	return append(limits, reply), err
}

// A search is the sizes that were tried so far, and what came of them.
type search struct {
	d       *Driver
	make    func(size int) *requestTemplate // a request that tries a size
	side    string
	tried   map[int]outcome
	payload map[int]int
	flaky   bool // a size that failed works, or the other way round

	good, bad int // the largest size that works below the smallest that failed; 0 if none did
}

// findLimit searches one side up to most bytes, and keeps a record of what it found.
func (d *Driver) findLimit(ctx context.Context, side string, tries func(int) *requestTemplate, most int, sink Sink) (SizeLimit, error) {
	s := &search{d: d, make: tries, side: side, tried: map[int]outcome{}, payload: map[int]int{}}
	err := s.double(ctx, most)
	if err == nil && s.bad > 0 {
		if err = s.bisect(ctx); err == nil {
			err = s.verify(ctx)
		}
	}
	if err != nil {
		return SizeLimit{}, err
	}
	l := s.limit()
	return l, sink(s.record(l))
}

// works tries a size.
func (s *search) works(ctx context.Context, size int) (bool, error) {
	if out, known := s.tried[size]; known {
		return out.verdict == OK, nil
	}
	t := s.make(size)
	out, err := s.d.roundTrip(ctx, t, int64(len(s.tried)+1))
	if err == nil && out.verdict == OK {
		err = s.d.checkAlive(ctx, &out)
	}
	if err != nil {
		return false, err
	}
	s.tried[size], s.payload[size] = out, cmp.Or(t.demands, t.to-t.from)
	return out.verdict == OK, nil
}

// beyond is how many sizes are tried above the first that fails, to see whether it is a limit or a
// hole.
const beyond = 2

// double tries doubling sizes up to most, from the smallest request on.
func (s *search) double(ctx context.Context, most int) error {
	smallest, failures := s.make(0), 0
	for _, size := range Doubling(1<<10, most) {
		if size < len(smallest.msg) && smallest.demands == 0 {
			continue
		}
		ok, err := s.works(ctx, size)
		switch {
		case err != nil:
			return err
		case ok && s.bad == 0:
			s.good = size
		case !ok && s.bad == 0:
			s.bad = size
		}
		if s.bad > 0 {
			if failures++; failures > beyond {
				break
			}
		}
	}
	return nil
}

// bisect closes in on the last size that works, between one that does and one that does not.
func (s *search) bisect(ctx context.Context) error {
	if s.good == 0 {
		smallest := len(s.d.smallest(transportRequest).msg)
		if ok, err := s.works(ctx, smallest); err != nil || !ok {
			return err
		}
		s.good = smallest
	}
	guesses := guesses(s.good, s.bad)
	for s.bad-s.good > 1 {
		size := s.good + (s.bad-s.good)/2
		guesses = slices.DeleteFunc(guesses, func(n int) bool { return n <= s.good || n >= s.bad })
		if len(guesses) > 0 {
			size = guesses[0]
		}
		ok, err := s.works(ctx, size)
		if err != nil {
			return err
		}
		if ok {
			s.good = size
		} else {
			s.bad = size
		}
	}
	return nil
}

// verify tries the limit, the size behind it, and twice the limit again: a failure that is not met
// a second time is not the size's.
func (s *search) verify(ctx context.Context) error {
	if s.good == 0 {
		return nil
	}
	first := s.tried[s.bad]
	for _, size := range []int{s.good, s.bad, 2 * s.good} {
		delete(s.tried, size)
		if _, err := s.works(ctx, size); err != nil {
			return err
		}
	}
	if again := s.tried[s.bad]; again.verdict == OK {
		s.tried[s.bad], s.flaky = first, true
	}
	s.flaky = s.flaky || s.tried[s.good].verdict != OK
	return nil
}

// roundSizes are those at which programmers put limits.
var roundSizes = []int{
	1e3, 1e4, 1e5, 1e6, 1e7, 5e7, 4 << 10, 8 << 10, 10 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10,
	1 << 20, 2 << 20, 4 << 20, 5 << 20, 8 << 20, 10 << 20, 16 << 20, 20 << 20, 32 << 20, 50 << 20, 64 << 20, 100 << 20,
}

// guesses returns the round sizes between two others, each with its neighbours: N bytes, N with the
// terminator, N exclusive. They are tried first, since a wrong guess costs no more than a step of
// bisection that is a little off the middle.
func guesses(good, bad int) []int {
	between := stat.Filter(roundSizes, func(n int) bool { return n+1 > good && n-2 < bad })
	middle := math.Sqrt(float64(good) * float64(bad))
	slices.SortFunc(between, func(a, b int) int {
		return int(math.Abs(float64(a)-middle) - math.Abs(float64(b)-middle))
	})
	var out []int
	for _, n := range between {
		out = append(out, n, n-1, n+1, n-2)
	}
	return out
}

// limit sums the search up.
func (s *search) limit() SizeLimit {
	message := func(size int) int { // that the limit is about: the request that was sent, or the answer that came
		if s.side == replySide {
			return s.tried[size].size
		}
		return size
	}
	l := SizeLimit{Side: s.side, Tried: len(s.tried), Flaky: s.flaky}
	if s.bad == 0 {
		l.SearchedTo = message(s.good)
		return l
	}
	l.Bytes, l.Payload, l.Above = message(s.good), s.payload[s.good], s.tried[s.bad].verdict
	for size, out := range s.tried {
		if size > s.bad && out.verdict == OK {
			l.Uneven = append(l.Uneven, message(size))
		}
	}
	slices.Sort(l.Uneven)
	return l
}

// record makes the limit a record.
func (s *search) record(l SizeLimit) results.Target {
	t := s.d.record()
	t.Evidence.LimitEvidence = &results.LimitEvidence{Side: l.Side, Tried: l.Tried, FailedAt: s.bad, Uneven: l.Uneven}
	if !l.Found() {
		t.SearchedTo = new(int64(l.SearchedTo))
		if s.d.failure != "" {
			t.Warnings = append(t.Warnings, "the failure in the sweep is not one of size, since all sizes work when tried again: "+s.d.failure)
		}
		return t
	}
	setFailure(&t, s.tried[s.bad])
	t.Evidence.SizeEvidence = &results.SizeEvidence{PayloadBytes: l.Payload}
	t.Evidence.AtTwice = string(s.tried[2*l.Bytes].verdict)
	if l.Side == requestSide {
		t.RequestLimit = new(int64(l.Bytes))
	} else {
		t.ReplyLimit = new(int64(l.Bytes))
	}
	if l.Flaky {
		t.Warnings = append(t.Warnings, "tried again, the limit did not hold: the failure depends on more than the size")
	}
	if len(l.Uneven) > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("larger sizes worked (%s first): this is where it failed first, not a limit",
			stat.FormatBytes(int64(l.Uneven[0]))))
	}
	return t
}
