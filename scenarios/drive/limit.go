package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// The two limits that are searched for: the largest request and the largest reply.
const (
	requestSide = "request"
	replySide   = "reply"
)

// FindLimits searches for the largest request and the largest reply that work, to the byte. It
// tries no message of more than most bytes; 0 stands for 64 MiB. It finds a limit of replies only
// if the server has a tool that echoes, or a tool that makes as many bytes as requested.
//
// Each limit becomes a record. Its RequestLimit or ReplyLimit is the largest message that works,
// and its verdict tells how a message of one byte more fails. If no size failed, SearchedTo is the
// largest message that came or went, which is less than most if the tool makes no larger reply.
func (d *Driver) FindLimits(ctx context.Context, most int, sink Sink) ([]results.Target, error) {
	most = cmp.Or(most, defaultTo)
	found, err := d.searchBoth(ctx, most)
	if err == nil && !d.sweepFailed { // else the characters may have failed, too
		last := found[len(found)-1]
		works := cmp.Or(last.RequestLimit, last.ReplyLimit, last.SearchedTo, new(int64))
		size := min(charactersBytes, int(*works)) / 4 // an answer with escapes is larger
		s := &series{Driver: d, request: d.protocol.Request(target.Tool, size)}
		err = s.tryCharacters(ctx)
		if s.characters {
			found = append(found, *s.record())
		}
	}
	if len(found) > 0 {
		d.warnOfOutput(&found[0])
	}
	for _, t := range found {
		err = errors.Join(err, sink(t))
	}
	return found, err
}

// repliesUntried makes the record that says why no large reply was tried.
func (d *Driver) repliesUntried(why string) results.Target {
	t := d.record()
	t.Verdict = results.VerdictNotTried
	t.Evidence.Why = why
	t.Evidence.Limit = &results.LimitEvidence{Side: replySide}
	return t
}

// searchBoth finds the limits of requests and of replies, and leaves these a third of the time.
func (d *Driver) searchBoth(ctx context.Context, most int) ([]results.Target, error) {
	p := d.protocol
	makesBytes := p.Demand != nil // a tool makes as many bytes as it is asked for
	requests := ctx
	if end, ok := ctx.Deadline(); ok && p.HasTools() {
		var cancel context.CancelFunc
		requests, cancel = context.WithTimeout(ctx, time.Until(end)*2/3)
		defer cancel()
	}
	found, err := d.search(requests, nil, requestSide, d.sized(d.limitKind()), most)
	if err != nil && len(found) == 1 && ctx.Err() == nil {
		warn(&found[0], "it had two thirds of the time: the rest is for replies")
		err = nil
	}
	if err != nil || !p.HasTools() {
		return found, err
	}
	if p.Echoes && d.options.ReplyTool == "" {
		fits := int(*cmp.Or(found[0].RequestLimit, found[0].SearchedTo)) // a request that works
		if found[0].RequestLimit != nil {
			fits = max(0, fits-envelope)
		}
		found, err = d.search(ctx, found, replySide, d.sized(target.Tool), fits)
		if err != nil {
			return found, err
		}
		last := &found[len(found)-1]
		last.Evidence.Limit.ByRequests = fits < most && last.SearchedTo != nil
		if last.Evidence.Limit.ByRequests && !makesBytes && len(p.Hints) > 0 {
			warn(last, "for larger replies: %s", strings.Join(p.Hints, ", "))
		}
		isDone := fits >= most || last.ReplyLimit != nil
		if isDone || !makesBytes {
			return found, nil
		}
		found = found[:len(found)-1] // the search below goes further
	}
	if makesBytes {
		return d.search(ctx, found, replySide, p.Demand, most)
	}
	return found, nil
}

func (d *Driver) limitKind() target.Kind {
	failed := d.protocol.ToolFails || d.sweepFailed && !d.protocol.Echoes
	if d.options.Request != RequestAuto || d.options.Tool != "" || failed {
		return target.Tool
	}
	return target.Transport // the server refuses these requests, which is the least work
}

// sized returns a function that makes a request of this kind and of a given size.
func (d *Driver) sized(kind target.Kind) func(int) *target.Request {
	return func(size int) *target.Request { return d.protocol.Request(kind, size) }
}

// A search holds the sizes that were tried so far, and the outcome of each.
type search struct {
	target.Search
	driver *Driver
	make   func(size int) *target.Request // makes the request that tries a size
	side   string
	call   string // the tool and argument that make replies; "" for an echo
	began  time.Time
	tried  map[int]target.Outcome // by size
	flaky  bool                   // the largest size that had worked failed in another try
	extra  map[int]int64          // by size, how many answers came that nobody waited for
}

// search searches for a limit, up to most bytes. The parameter side says whether it is the limit of
// requests or of replies. It appends the record of that limit to found. If ctx ends, the record has
// what is known so far.
func (d *Driver) search(
	ctx context.Context, found []results.Target, side string,
	tries func(int) *target.Request, most int,
) ([]results.Target, error) {
	s := &search{driver: d, make: tries, side: side, began: time.Now()}
	s.tried = map[int]target.Outcome{}
	s.extra = map[int]int64{}
	least := d.protocol.Smallest(target.Transport).Size()
	s.Search = target.Search{First: 1 << 10, Factor: 2, Most: most, Least: least}
	for s.First < tries(0).Size() {
		s.First *= 2
	}
	if tries(1).Demands > 0 { // the size is an argument of a tool, in bytes or in anything else
		s.call = d.protocol.Call
		s.First = 16
		s.Least = 1
	}
	err := s.run(ctx)
	refused := s.tried[s.High]
	if err == nil && s.call != "" && s.Low == 0 && refused.Verdict == target.ErrorReply {
		why := fmt.Sprintf("to %s=%d it answers %s", s.call, s.High, refused.Why)
		return append(found, d.repliesUntried(why)), nil
	}
	if err == nil && s.High > 0 {
		err = s.verify(ctx)
	}
	if err != nil && s.side == replySide && s.Low == 0 && ctx.Err() == context.DeadlineExceeded {
		return append(found, d.repliesUntried("the time was over; try smaller ones "+
			"(--size 4MiB), or longer (--max-time)")), err
	}
	if err != nil && (ctx.Err() == nil || s.Low == 0) {
		return found, err
	}
	t := s.record()
	if s.refusesFirst() && len(t.Evidence.Limit.Uneven) == 0 && d.protocol.CallsTool() {
		t.Evidence.Advice = refused.Why + "; is it the right tool, with all that it needs " +
			"(--tool, --tool-args)? --request unknown calls none"
	}
	return append(found, t), err
}

// envelope is how far echoes stay below the limit of requests, which may be lower for another kind
// of request: a server may limit not the message, but what it makes of it.
const envelope = 256

// run searches until a size that failed fails a second time, on a new process: a busy machine, or
// what the process answered before, may be to blame for one failure.
func (s *search) run(ctx context.Context) error {
	try := func(size int) (bool, error) { return s.try(ctx, size) }
	for {
		err := s.Run(time.Time{}, try)
		if err != nil || s.High == 0 {
			return err
		}
		if gotNothing(s.tried[s.High].Verdict) {
			s.driver.end(true /* politely */)
		}
		works, err := try(s.High)
		if err != nil || !works {
			return err
		}
		s.Low = s.High
		s.High = 0
		if s.Low >= s.Most {
			return nil
		}
		s.First = 2 * s.Low
	}
}

// try tries a size. The Size of the outcome is the size of the request in a search for the limit of
// requests, else the size of the reply.
func (s *search) try(ctx context.Context, size int) (works bool, err error) {
	trying := stat.FormatBytes(int64(size))
	if s.call != "" {
		trying = fmt.Sprintf("%s=%d", s.call, size)
	}
	s.driver.observe(fmt.Sprintf("the limit of a %s: trying %s", s.side, trying))
	before := s.driver.unasked()
	isNew := s.driver.server == nil
	out, err := s.driver.tripAlive(ctx, s.make(size), int64(len(s.tried)+1))
	if err == nil && !isNew && (out.Verdict.Ended() || s.refusesAll(ctx, out)) {
		s.driver.end(true /* politely */) // is it over what came before?
		out, err = s.driver.tripAlive(ctx, s.make(size), int64(len(s.tried)+1))
	}
	if err != nil {
		return false, err
	}
	if s.side == requestSide {
		out.Size = size
	}
	s.tried[size] = out
	s.extra[size] = s.driver.unasked() - before
	works = out.Verdict == target.OK
	if works && s.call != "" && out.Size >= s.Most {
		s.Most = size // a larger argument makes a larger reply than is wanted
	}
	return works, nil
}

// refusesAll reports whether a server that refused a size now refuses the smallest one, too,
// although larger ones had worked.
func (s *search) refusesAll(ctx context.Context, out target.Outcome) bool {
	if out.Verdict != target.ErrorReply || s.Low == 0 {
		return false
	}
	small, err := s.driver.trip(ctx, s.make(s.Least), 1)
	return err == nil && small.Verdict == target.ErrorReply
}

// beyond is the number of powers of two, above twice the limit, that must have been tried as sizes.
const beyond = 2

// refusesFirst reports whether no size worked, because the server answers that it refuses.
func (s *search) refusesFirst() bool {
	return s.Low == 0 && s.tried[s.High].Verdict == target.ErrorReply
}

// verify tries once more the largest size that worked, and then some sizes beyond the limit. If one
// of the larger sizes works, there is no limit, but just a gap. A refusal costs little time: if the
// smallest sizes are refused, verify goes on until a size works.
func (s *search) verify(ctx context.Context) error {
	var sizes []int
	if s.Low > 0 {
		sizes = append(sizes, s.Low, 2*s.Low)
	}
	counted := 0
	for _, size := range Doubling(1<<10, s.Most) {
		if size <= 2*s.Low || counted == beyond && !s.refusesFirst() {
			continue
		}
		counted++
		if s.tried[size].Verdict == "" {
			sizes = append(sizes, size)
		}
	}
	for _, size := range sizes {
		before := s.tried[size]
		works, err := s.try(ctx, size)
		if err == nil && !works && size == s.Low {
			works, err = s.try(ctx, size)
		}
		if err != nil {
			return err
		}
		if size == s.Low && !works {
			s.flaky = true
			failed := s.tried[size]
			failed.Size = before.Size // an answer that was cut has none
			s.tried[size] = failed
		}
		if works && s.refusesFirst() {
			return nil
		}
	}
	return nil
}

// oneRead is how many bytes one read takes from a full pipe.
const oneRead = 64 << 10

// framing is how many bytes the framing adds to a message at most.
const framing = 64

// warnOfReads warns of a limit that may follow from how the server reads: a server that fails above
// one read, without last words, may take each read for a message.
func (s *search) warnOfReads(t *results.Target) {
	v := target.Verdict(t.Verdict)
	past := *t.RequestLimit + framing - oneRead
	endsSilently := v.Ended() && len(t.Evidence.Failure.StderrTail) == 0
	isKnown := s.driver.protocol.OneRead.Load() // a record says so
	isNear := past >= 0 && past <= 2*framing
	if !isKnown && isNear && (v == target.Unanswered || endsSilently) {
		warn(t, "65,536 B is no limit of a pipe: one read takes so much from a full one. The "+
			"server may take each read for a whole message, or keep no more than 64 KiB of one: "+
			"pipebench check --server --only trickle can tell")
	}
}

// worksBeyond returns the sizes above the limit that worked, in order.
func (s *search) worksBeyond() []int {
	var sizes []int
	for size, out := range s.tried {
		if size > s.High && out.Verdict == target.OK {
			sizes = append(sizes, out.Size)
		}
	}
	slices.Sort(sizes)
	return sizes
}

// again returns a command that repeats the search and has time for this many times the work. Half
// as much again is for replies, and twice that for a busy machine.
func (s *search) again(work float64) string {
	needed := fmt.Sprintf("%.0fm", math.Ceil(3*work*time.Since(s.began).Minutes()))
	return s.driver.options.commandLine(s.Most, "--find-limit", "--max-time", needed)
}

func (s *search) record() results.Target {
	t := s.driver.record()
	e := &results.LimitEvidence{Side: s.side, FailedAt: s.High, Flaky: s.flaky}
	t.Evidence.Limit = e
	if s.make(0).Kind == target.Transport && s.driver.protocol.HasTools() {
		t.Evidence.Server.SmallReplies = true
		t.Evidence.Server.Uncompared = false
	}
	largest := int64(s.tried[s.Low].Size)
	if s.side == requestSide && s.driver.sweepCut && !s.driver.sweepFailed {
		warn(&t, "the time was too short to measure all sizes: of some, nothing but the limit "+
			"is known")
	}
	if s.High == 0 {
		t.SearchedTo = &largest
		if s.Low < s.Most {
			e.CutShort = true
			// The time is proportional to the size, and the tries near a limit take as long again.
			warn(&t, "the search was cut short: to try larger ones, run %s",
				s.again(2*float64(s.Most)/float64(max(largest, 1))))
		} else if s.call != "" && largest < int64(s.Most) {
			e.Call = s.call
			e.Asked = s.Low
		}
		return t
	}
	if s.side == requestSide {
		t.RequestLimit = &largest
	} else {
		t.ReplyLimit = &largest
	}
	failed := s.tried[s.High]
	if s.call != "" {
		e.Call = s.call
		e.Asked = s.Low
		s.driver.setFailure(&t, failed, 0, "--find-limit")
	} else {
		s.driver.setFailure(&t, failed, s.High)
		payload := len(s.make(s.Low).Payload())
		t.Evidence.Size = &results.SizeEvidence{PayloadBytes: payload}
		e.FailedAt += int(largest) - s.Low // a reply may be larger than its request
	}
	if failed.Verdict.Ended() && s.Low > 0 {
		t.Evidence.Advice = target.AdviceEndedBySize
	}
	isVague := failed.Verdict.Ended() || failed.Verdict == target.Late
	for _, out := range s.tried {
		if out.Verdict == target.Truncated && isVague {
			t.Evidence.Advice = "larger ones are cut; " + out.Verdict.Advice()
		}
	}
	e.AtTwice = string(s.tried[2*s.Low].Verdict)
	e.Uneven = s.worksBeyond()
	e.CutShort = s.High-s.Low > 1 && s.Low > 0
	s.warnOfLimit(&t)
	return t
}

// warnOfLimit warns of what makes the limit in t doubtful.
func (s *search) warnOfLimit(t *results.Target) {
	e := t.Evidence.Limit
	if e.CutShort {
		// twice as many tries
		warn(t, "the search was cut short: to find the exact limit, run %s", s.again(2))
	}
	if s.side == requestSide && s.driver.options.Capacity == 0 {
		s.warnOfReads(t)
	}
	if n := s.extra[s.Low]; n > 0 {
		warn(t, "a %s of %s was answered, and %s came that nobody waited for", s.side,
			stat.FormatBytes(int64(s.Low)), results.FormatCount(int(n), "answer"))
	}
	if s.flaky {
		warn(t, "tried again, it broke elsewhere or not at all: more than the size is to blame")
	}
	if len(e.Uneven) > 0 {
		warn(t, "larger sizes worked (%s first): this is where it failed first, not a limit",
			stat.FormatBytes(int64(e.Uneven[0])))
	}
}
