package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/child"
)

// An Outcome is what came of one request.
type Outcome struct {
	Verdict Verdict
	Why     string
	Size    int           // bytes of the answer
	Took    time.Duration // from the first byte offered to the last byte of the answer
	// how the server failed; nil if nothing did, or nobody looked yet
	Evidence *results.FailureEvidence

	code     string    // of the error in the answer
	offset   *int64    // of the first wrong byte of the payload; nil if none is
	at       time.Time // when the answer was whole
	accepted int64     // bytes of the request that the pipe took, framing and all
}

// Lives reports whether the server can be asked again.
func (o *Outcome) Lives() bool {
	return o.Verdict == OK ||
		o.Verdict == ErrorReply && o.Evidence != nil && o.Evidence.Probe == probeAnswered
}

// fail makes the outcome one that needs an explanation.
func (o *Outcome) fail(v Verdict, format string, args ...any) {
	o.Verdict = v
	o.Why = fmt.Sprintf(format, args...)
	o.Evidence = cmp.Or(o.Evidence, new(results.FailureEvidence))
}

// mostPatience is how many times its time a server has that is at work.
const mostPatience = 10

// LimitOf returns how long the server has to take so many bytes of requests of a kind, and again to
// answer them.
func (s *Server) LimitOf(kind Kind, bytes int) time.Duration {
	limit := s.Paces[kind].Limit(s.o.Patience, bytes)
	if s.o.Longest > 0 {
		return min(limit, s.o.Longest)
	}
	return limit
}

// Trip sends the request's i-th copy and waits for its answer, longer than the limit if the server
// is at work. Its error is that ctx ended. What the server does wrong is in the outcome; unless the
// outcome Lives, nothing else can be asked of it.
func (s *Server) Trip(ctx context.Context, r *Request, i int64) (Outcome, error) {
	before := s.Usage()
	limit := s.LimitOf(r.Kind, r.Size())
	out := s.exchange(ctx, r, i, limit)
	if ctx.Err() != nil {
		return Outcome{}, context.Cause(ctx)
	}
	if out.Verdict == OK {
		s.served++
		if r.Size() >= s.Paces[r.Kind].Size {
			s.Paces[r.Kind] = Pace{Size: r.Size(), Took: out.Took}
		}
	} else {
		s.Explain(ctx, before, &out)
	}
	if r.Release != nil && out.Lives() {
		// if it is not taken, the next request fails, too
		_ = s.SendWithin(ctx, limit, r.Release.Number(i))
	}
	return out, nil
}

// SendWithin sends a message that the server has so long to take, or longer if it is at work.
func (s *Server) SendWithin(ctx context.Context, limit time.Duration, msg []byte) error {
	patient, stop := s.Patient(ctx, limit, mostPatience*limit)
	defer stop()
	return s.Send(patient, msg)
}

// exchange sends and waits. Its verdicts are provisional if nothing came: Explain finds out why.
func (s *Server) exchange(
	ctx context.Context, r *Request, i int64, limit time.Duration,
) Outcome {
	got := s.expect(r)
	defer s.Receive(nil)
	sent := s.In.Bytes()
	patient, stop := s.Patient(ctx, limit, mostPatience*limit)
	began := time.Now()
	err := s.Send(patient, r.Number(i))
	if err == nil && r.Query != nil {
		err = s.Send(patient, r.Query.Number(i))
	}
	stop()
	out := Outcome{accepted: s.In.Bytes() - sent}
	if err == nil {
		s.await(ctx, got, began, limit, &out)
		return out
	}
	out.fail(Deaf, "%s", WhyNotTaken(err, out.accepted))
	out.Evidence.Unsent = true
	s.noteUnread(out.Evidence)
	if s.Process.Ended(LeaveAtTerm) { // it may have answered before it left
		<-s.Closed()
		out.take(got, began)
	}
	return out
}

// WhyNotTaken says in plain words why a request could not be written.
func WhyNotTaken(err error, accepted int64) string {
	taken := stat.FormatBytes(accepted) + " of the request were taken"
	switch {
	case errors.Is(err, child.ErrNotTaken):
		return "the request was not taken in its time: " + taken
	case errors.Is(err, child.ErrLeft):
		return "nobody reads the server's input any more, after " + taken
	}
	return fmt.Sprintf("the request was not taken: %v", err)
}

// expect has the next answer to the request's message checked and handed over.
func (s *Server) expect(r *Request) <-chan Outcome {
	got := make(chan Outcome, 1)
	s.Receive(func(m child.Message) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.answeredBy(m.Envelope) {
			s.Strays.Unasked.Add(1)
			return
		}
		out := r.Check(m.Raw, m.Envelope)
		out.Size = len(m.Raw)
		out.at = m.At
		select {
		case got <- out:
		default: // a second answer to one request
			s.Strays.Unasked.Add(1)
		}
	})
	return got
}

// await waits for the answer.
func (s *Server) await(
	ctx context.Context, got <-chan Outcome, began time.Time, limit time.Duration, out *Outcome,
) {
	patient, stop := s.Patient(ctx, limit, mostPatience*limit)
	defer stop()
	select {
	case answer := <-got:
		out.complete(answer, began)
		return
	case <-s.Closed():
		out.fail(Deaf, "%v", s.Err())
		if errors.Is(s.Err(), child.ErrEndless) {
			out.fail(Endless, "%v", s.Err())
		}
	case <-patient.Done():
		out.fail(Deaf, "no answer within %s", time.Since(began).Round(time.Millisecond))
	}
	out.take(got, began) // it came at the last moment
}

// take completes the outcome by an answer, if there is one.
func (o *Outcome) take(got <-chan Outcome, began time.Time) {
	select {
	case answer := <-got:
		o.complete(answer, began)
	default:
	}
}

func (o *Outcome) complete(answer Outcome, began time.Time) {
	answer.accepted = o.accepted
	answer.Evidence = o.Evidence
	answer.Took = answer.at.Sub(began)
	*o = answer
}
