package drive

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/pipebench/pipebench/results"
)

// An Edge is the largest message that a server takes, or gives.
type Edge struct {
	Side       string  // "request" or "reply"
	Bytes      int     // the largest message that works
	Payload    int     // the payload in it
	Above      Verdict // what one byte more meets; "" where no limit was found
	SearchedTo int     // no limit up to here; 0 where one was found

	// Uneven holds larger sizes that worked although a smaller one failed: then the limit is only where it failed first.
	Uneven []int
	Flaky  bool // the limit, tried again, was none
	Tried  int  // sizes that were tried
}

// Found reports whether there is a limit.
func (l Edge) Found() bool { return l.Above != "" }

func (l Edge) String() string {
	if !l.Found() {
		return fmt.Sprintf("%s: no limit up to %s", l.Side, bytesText(l.SearchedTo))
	}
	s := fmt.Sprintf("%s limit: %s (payload %s); one byte more: %s", l.Side, bytesText(l.Bytes), bytesText(l.Payload), l.Above)
	if len(l.Uneven) > 0 {
		s += fmt.Sprintf("; not even: %s and more worked", bytesText(l.Uneven[0]))
	}
	return s
}

func bytesText(n int) string { return grouped(n) + " B" }

// grouped writes a number with a comma at every thousand.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// FindLimits searches for the largest request and the largest reply that work, up to most bytes each: in coarse steps first, then to the
// byte. Requests are measured by the way that stops soonest, a method that the server refuses, unless another was asked for; replies by an
// echo as far as requests go, and beyond by a tool that makes as many bytes as it is asked for, where there is one.
func (d *Driver) FindLimits(ctx context.Context, most int, keep Keep) ([]Edge, error) {
	request, err := d.findLimit(ctx, "request", d.requests(d.limitAsk()), most)
	if err != nil {
		return nil, err
	}
	limits := []Edge{request.edge}
	if err := keep(request.record()); err != nil {
		return limits, err
	}
	var reply *search
	for _, probe := range d.replies(request.edge, most) {
		if reply, err = d.findLimit(ctx, "reply", probe.make, probe.to); err != nil {
			return limits, err
		}
		if reply.edge.Found() {
			break
		}
	}
	if reply == nil {
		return limits, nil
	}
	return append(limits, reply.edge), keep(reply.record())
}

// limitAsk is what the search for the limit of requests sends: what was asked for, or what stops soonest.
func (d *Driver) limitAsk() ask {
	if d.o.Request == RequestAuto {
		return askTransport
	}
	return askTool
}

// A prober makes the request that tries a size.
type prober func(size int) (*shape, error)

func (d *Driver) requests(a ask) prober {
	return func(size int) (*shape, error) { return d.request(a, size) }
}

// A reach is a way to make replies, and how far it goes.
type reach struct {
	make prober
	to   int
}

// replies are the ways to requests whose answers grow, in the order in which they are tried; none where the server is not known to give any.
func (d *Driver) replies(request Edge, most int) []reach {
	m, ok := d.dialect.(*mcp)
	if !ok {
		return nil
	}
	sized := reach{func(size int) (*shape, error) { return m.demand(size), nil }, most}
	echoed := reach{d.requests(askTool), most}
	if request.Found() {
		echoed.to = request.Bytes
	}
	switch {
	case m.replies.name != "", m.sized != nil && !m.echoes:
		return []reach{sized}
	case m.sized != nil && echoed.to < most:
		return []reach{echoed, sized}
	case m.echoes:
		return []reach{echoed}
	}
	return nil
}

// findLimit searches one side.
func (d *Driver) findLimit(ctx context.Context, side string, probe prober, most int) (*search, error) {
	s := &search{d: d, probe: probe, tried: map[int]outcome{}, payload: map[int]int{}, side: side}
	good, bad, err := s.coarse(ctx, most)
	if err != nil {
		return nil, err
	}
	if bad > 0 {
		if good, bad, err = s.narrow(ctx, good, bad); err != nil {
			return nil, err
		}
		if err := s.verify(ctx, good, bad); err != nil {
			return nil, err
		}
	}
	s.edge, s.bad = s.limit(good, bad), bad
	return s, nil
}

// verify tries the limit, the size behind it, and twice the limit again: a failure that is not met a second time is not the size's.
func (s *search) verify(ctx context.Context, good, bad int) error {
	if good == 0 {
		return nil
	}
	first := s.tried[bad]
	for _, size := range []int{good, bad, 2 * good} {
		delete(s.tried, size)
		if _, err := s.works(ctx, size); err != nil {
			return err
		}
	}
	if again := s.tried[bad]; again.verdict == OK {
		s.tried[bad], s.flaky = first, true
	}
	s.flaky = s.flaky || s.tried[good].verdict != OK
	return nil
}

// A search is the sizes that were tried so far, and what came of them.
type search struct {
	d       *Driver
	probe   prober
	side    string
	tried   map[int]outcome
	payload map[int]int
	flaky   bool // a size that failed works, or the other way round

	edge Edge // when it is over
	bad  int  // the size above it; 0 if none failed
}

// works tries a size.
func (s *search) works(ctx context.Context, size int) (bool, error) {
	if out, known := s.tried[size]; known {
		return out.verdict == OK, nil
	}
	shape, err := s.probe(size)
	if err != nil {
		return false, err
	}
	out, err := s.d.trip(ctx, shape, int64(len(s.tried)+1))
	if err == nil && out.verdict == OK {
		err = s.d.outlived(ctx, &out)
	}
	if err != nil {
		return false, err
	}
	s.tried[size], s.payload[size] = out, shape.carries()
	return out.verdict == OK, nil
}

// outlived asks a server that has answered for another sign of life: one that ends over a message after its answer would else seem to end over
// the next.
func (d *Driver) outlived(ctx context.Context, out *outcome) error {
	after, err := d.try(ctx, askTransport)
	if err != nil || after.verdict == OK {
		return err
	}
	after.why, after.reply = "it was answered, but a small request after it was not: "+after.why, out.reply
	*out = after
	return nil
}

// beyond is how many sizes are tried above the first that fails, to see whether it is a limit or a hole.
const beyond = 2

// coarse tries doubling sizes. bad is the first that failed, 0 if none did; good the largest below it that worked.
func (s *search) coarse(ctx context.Context, most int) (good, bad int, err error) {
	failures := 0
	for _, size := range Doubling(1<<10, most) {
		ok, err := s.works(ctx, size)
		if least, small := leastOf(err); small {
			if least <= most {
				continue
			}
			return 0, 0, err
		}
		switch {
		case err != nil:
			return 0, 0, err
		case ok && bad == 0:
			good = size
		case !ok && bad == 0:
			bad = size
		}
		if bad > 0 {
			if failures++; failures > beyond {
				break
			}
		}
	}
	return good, bad, nil
}

// narrow closes in on the last size that works, between one that does and one that does not.
func (s *search) narrow(ctx context.Context, good, bad int) (int, int, error) {
	if good == 0 {
		smallest, err := s.d.smallest(askTransport)
		if err != nil {
			return 0, bad, err
		}
		if ok, err := s.works(ctx, len(smallest.msg)); err != nil || !ok {
			return 0, bad, err
		}
		good = len(smallest.msg)
	}
	guesses := guesses(good, bad)
	for bad-good > 1 {
		size := good + (bad-good)/2
		guesses = slices.DeleteFunc(guesses, func(n int) bool { return n <= good || n >= bad })
		if len(guesses) > 0 {
			size = guesses[0]
		}
		ok, err := s.works(ctx, size)
		if err != nil {
			return good, bad, err
		}
		if ok {
			good = size
		} else {
			bad = size
		}
	}
	return good, bad, nil
}

// guesses are the sizes between two others at which programmers put limits, each with its neighbours: N bytes, N with the terminator, N
// exclusive. They are tried first, since a wrong guess costs no more than a step of bisection that is a little off the middle.
func guesses(good, bad int) []int {
	var round []int
	for _, n := range []int{1e3, 1e4, 1e5, 1e6, 1e7, 5e7, 4 << 10, 8 << 10, 10 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10,
		1 << 20, 2 << 20, 4 << 20, 5 << 20, 8 << 20, 10 << 20, 16 << 20, 20 << 20, 32 << 20, 50 << 20, 64 << 20, 100 << 20} {
		if n+1 > good && n-2 < bad {
			round = append(round, n)
		}
	}
	middle := math.Sqrt(float64(good) * float64(bad))
	slices.SortFunc(round, func(a, b int) int { return int(math.Abs(float64(a)-middle) - math.Abs(float64(b)-middle)) })
	var out []int
	for _, n := range round {
		out = append(out, n, n-1, n+1, n-2)
	}
	return out
}

// limit sums the search up.
func (s *search) limit(good, bad int) Edge {
	l := Edge{Side: s.side, Tried: len(s.tried), Flaky: s.flaky}
	if bad == 0 {
		l.SearchedTo = s.message(good)
		return l
	}
	l.Bytes, l.Payload, l.Above = s.message(good), s.payload[good], s.tried[bad].verdict
	for size, out := range s.tried {
		if size > bad && out.verdict == OK {
			l.Uneven = append(l.Uneven, s.message(size))
		}
	}
	slices.Sort(l.Uneven)
	return l
}

// message is the size of the message that the limit is about: the request that was sent, or the answer that came.
func (s *search) message(size int) int {
	if s.side == "reply" {
		return s.tried[size].reply
	}
	return size
}

// record is the limit as a record.
func (s *search) record() results.Target {
	l, bad := s.edge, s.bad
	t := s.d.record()
	s.d.pipes(&t)
	t.Verdict = string(OK)
	add(&t, map[string]any{"side": l.Side, "tried": l.Tried})
	if !l.Found() {
		t.SearchedTo = new(int64(l.SearchedTo))
		return t
	}
	above := s.tried[bad]
	t.Verdict = string(l.Above)
	add(&t, above.evidence.fields())
	add(&t, map[string]any{"payload_bytes": l.Payload, "failed_at": bad, "why": above.why, "advice": l.Above.Advice()})
	if twice, ok := s.tried[2*l.Bytes]; ok {
		add(&t, map[string]any{"at_twice": string(twice.verdict)})
	}
	n := int64(l.Bytes)
	if l.Side == "request" {
		t.RequestLimit = &n
	} else {
		t.ReplyLimit = &n
	}
	if l.Flaky {
		t.Warnings = append(t.Warnings, "tried again, the limit did not hold: the failure depends on more than the size")
	}
	if len(l.Uneven) > 0 {
		add(&t, map[string]any{"uneven": l.Uneven})
		t.Warnings = append(t.Warnings, fmt.Sprintf("larger sizes worked (%s first): this is where it failed first, not a limit", bytesText(l.Uneven[0])))
	}
	return t
}
