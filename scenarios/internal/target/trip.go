package target

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// An Outcome is the result of one request.
type Outcome struct {
	Verdict Verdict
	Why     string
	Size    int           // bytes of the answer
	Took    time.Duration // from the beginning of the request to the end of the answer
	Remedy  string        // advice on the cause, in place of that on the verdict; "" for none
	// InFrames says that an MCP server sent the answer in a form other than a line. No MCP client
	// reads any other form.
	InFrames bool
	// Evidence tells how the server failed. It is nil if the server did not fail. The method
	// Explain completes the evidence.
	Evidence *results.FailureEvidence

	id       string          // that the answer has to have; "" for any
	arrivals arrivals        // what came in place of the answer
	pending  framers.Pending // what had come of the next message when the time was up
	answer   <-chan Outcome  // gets an answer that comes too late
	code     string          // of the error in the answer
	offset   *int64          // of the first wrong byte of the payload; nil if none is wrong
	accepted int64           // bytes of the request that the pipe took, framing included

	nonBlocking bool // the server's standard output is known to be non-blocking
}

// Lives reports whether the server can be asked again.
func (o *Outcome) Lives() bool {
	return o.Verdict == OK ||
		o.Verdict == ErrorReply && o.Evidence != nil && o.Evidence.Probe == probeAnswered
}

// fail notes a failure, which Explain completes.
func (o *Outcome) fail(v Verdict, format string, args ...any) {
	o.Verdict = v
	o.Why = fmt.Sprintf(format, args...)
	o.Evidence = cmp.Or(o.Evidence, new(results.FailureEvidence))
}

// The factors by which the time limit grows for a server that is still at work.
const (
	MaxPatience   = 10
	briefPatience = 2 // of a Request with Brief
)

// LimitOf returns the time limit for requests that have the given number of bytes in all. A server
// gets that time to take the requests, and the same time again to answer.
func (s *Server) LimitOf(kind Kind, bytes int) time.Duration {
	limit := s.Paces[kind].Limit(s.o.Patience, bytes)
	if s.o.Longest > 0 {
		return min(limit, s.o.Longest)
	}
	return limit
}

// Trip sends the i-th copy of the request and waits for its answer. If [Outcome.Lives] is false,
// the server can no longer be asked. Trip returns an error only if ctx ended.
func (s *Server) Trip(ctx context.Context, r *Request, i int64) (Outcome, error) {
	before := s.Usage()
	size := r.Size()
	for _, msg := range r.Lead {
		size += len(msg)
	}
	limit := max(r.Least, s.LimitOf(r.Kind, size))
	defer s.Receive(nil)
	began := time.Now()
	out := s.exchange(ctx, r, i, limit)
	if ctx.Err() != nil {
		return Outcome{}, context.Cause(ctx)
	}
	if out.Verdict != OK && !r.Brief {
		out.Evidence = cmp.Or(out.Evidence, new(results.FailureEvidence))
		out.Evidence.Computed = time.Since(began) >= MaxPatience*limit && s.computes(before)
		s.Explain(ctx, before, &out)
		if r.escapes && bytes.Equal(out.arrivals.cutEnd, r.Payload()[:StampDigits]) {
			out.fail(Corrupt, "the answer's line ends where the text has a newline")
			out.blameEscapes()
		}
		if r.AtEnd {
			s.explainAtEnd(&out)
		}
		if out.Verdict == Deaf && s.ignores(r) {
			out.Verdict = Ignored
		}
	}
	isFirst := s.served == [2]int64{} && len(r.Lead) == 0
	if out.Verdict == Unanswered && out.arrivals.refused && isFirst {
		// It may have come together with the end of the handshake: send it alone.
		s.Receive(nil)
		again := s.exchange(ctx, r, i, limit)
		if again.Verdict == OK {
			s.Protocol().OneRead.Store(true)
			out = again
		}
	}
	if out.Verdict == OK {
		s.served[r.Kind]++
		if r.Size() >= s.Paces[r.Kind].Size {
			s.Paces[r.Kind] = Pace{Size: r.Size(), Took: out.Took}
		}
	}
	if r.Release != nil && out.Lives() {
		// An error is ignored: the next request meets it, too.
		_ = s.SendWithin(ctx, limit, r.Release.Number(i))
	}
	return out, nil
}

// ignores reports whether r is a request of the kind that the server is known to ignore.
func (s *Server) ignores(r *Request) bool { return s.Protocol().Silent && r.errs && r.Numbered() }

// SendWithin sends messages within limit, or within MaxPatience times limit if the server is still
// at work.
func (s *Server) SendWithin(ctx context.Context, limit time.Duration, msgs ...[]byte) error {
	patient, stop := s.Patient(ctx, limit, MaxPatience*limit)
	defer stop()
	for _, msg := range msgs {
		if err := s.Send(patient, msg); err != nil {
			return err
		}
	}
	return nil
}

// sendTogether is like SendWithin, but joins the messages, as far as they fit into one write.
func (s *Server) sendTogether(ctx context.Context, limit time.Duration, msgs [][]byte) error {
	patient, stop := s.Patient(ctx, limit, MaxPatience*limit)
	defer stop()
	return s.Batch(patient, func(w framers.Writer) error {
		for _, msg := range msgs {
			if err := w.WriteMessage(msg); err != nil {
				return err
			}
		}
		return nil
	})
}

// exchange sends the i-th copy of the request and waits for its answer. A late answer goes into
// Outcome.answer, until the caller calls s.Receive(nil).
func (s *Server) exchange(ctx context.Context, r *Request, i int64, limit time.Duration) Outcome {
	if r.Brief {
		brief, stop := context.WithTimeout(ctx, briefPatience*limit)
		defer stop()
		ctx = brief
	}
	msgs := [][]byte{r.Number(i)}
	if r.Query != nil {
		msgs = append(msgs, r.Query.Number(i))
	}
	s.Strays.takeArrivals() // forget what came before the request
	s.question.Store(nil)
	sent := s.In.Bytes()
	began := time.Now()
	got := s.expect(r, began)
	var err error
	if len(r.Lead) > 0 {
		err = s.sendTogether(ctx, limit, append(slices.Clone(r.Lead), msgs...))
	} else {
		err = s.SendWithin(ctx, limit, msgs...)
	}
	accepted := s.In.Bytes() - sent
	var out Outcome
	if err == nil {
		out = s.await(ctx, got, r.answerID(), began, limit)
	} else {
		out = s.explainUnsent(got, err, WhyNotTaken(err, accepted))
	}
	out.id = string(r.answerID())
	out.accepted = accepted
	out.answer = got
	return out
}

// explainUnsent returns the outcome of a request that the server did not take. The outcome may be
// an answer that the server gave before it exited.
func (s *Server) explainUnsent(got <-chan Outcome, err error, why string) Outcome {
	var out Outcome
	out.fail(Deaf, "%s", why)
	out.Evidence.Unsent = true
	s.noteUnread(out.Evidence)
	stayed := errors.Is(err, child.ErrNotTaken) && !s.Process.Ended(0) // in all its time
	if stayed || !s.Ended(LeaveAtTerm) {
		return out
	}
	<-s.Closed()
	answer := lastAnswer(got, out)
	answer.Evidence = out.Evidence
	return answer
}

// WhyNotTaken says why a request was not written, of which the pipe has accepted so many bytes.
func WhyNotTaken(err error, accepted int64) string {
	taken := stat.FormatBytes(accepted) + " were taken"
	switch {
	case errors.Is(err, child.ErrNotTaken):
		return "the request was not taken in its time: " + taken
	case errors.Is(err, child.ErrLeft):
		return "nobody reads the server's input any more, after " + taken
	}
	return fmt.Sprintf("the request was not taken: %v", err)
}

// expect returns a channel that gets the outcome of the next answer to r. Other answers go to the
// Receiver that was set before.
func (s *Server) expect(r *Request, began time.Time) <-chan Outcome {
	got := make(chan Outcome, 1)
	before := s.receive.Load()
	answered := false
	s.Receive(func(m child.Message) {
		r.mu.Lock()
		defer r.mu.Unlock()
		id := r.answerID()
		isOther := !m.Envelope.Kind().Answers() || !bytes.Equal(m.Envelope.ID, id)
		if id != nil && isOther {
			if before != nil {
				(*before)(m)
			} else {
				s.Strays.AddUnasked(m.Envelope.ID)
				s.Strays.addMessage(m)
			}
			return
		}
		if answered { // a second answer to one request
			s.Strays.AddUnasked(m.Envelope.ID)
			return
		}
		answered = true
		out := s.Check(r, m)
		out.Size = len(m.Raw)
		out.Took = m.At.Sub(began)
		got <- out
	})
	return got
}

// lookTime is how often await looks whether only the beginning of an answer came.
const lookTime = 100 * time.Millisecond

// restTime is how long a server may do nothing after the beginning of an answer, if that came as a
// line or through a non-blocking output. The server writes the rest at once, as we read all the
// time, or has lost it.
const restTime = 500 * time.Millisecond

// losesRest reports whether the beginning of a message, not other text, has come from a server
// whose output is non-blocking.
func (s *Server) losesRest() bool {
	return s.begun() > 0 && proc.NonBlocking(s.Process.Cmd.Process.Pid, 1)
}

// begun returns how many bytes have come of a message, not of other text.
func (s *Server) begun() int64 {
	if s.Pending().Text != "" {
		return 0
	}
	return s.Partial()
}

// await waits for an outcome within limit, or within MaxPatience times limit if the server is still
// at work. It does not wait long for the rest of the answer, which has to have this id, if the rest
// seems to be lost.
func (s *Server) await(
	ctx context.Context, got <-chan Outcome, id []byte, began time.Time, limit time.Duration,
) Outcome {
	patient, stop := s.Patient(ctx, limit, MaxPatience*limit)
	defer stop()
	look := time.NewTicker(lookTime)
	defer look.Stop()
	isHurried := false
	var out Outcome
	for {
		select {
		case answer := <-got:
			return answer
		case <-s.Closed():
			out.fail(Deaf, "%v", s.Err())
			if errors.Is(s.Err(), child.ErrEndless) {
				out.fail(Endless, "%v", s.Err())
			}
		case <-patient.Done():
			out.fail(Deaf, "no answer within %s",
				results.FormatDuration(float64(time.Since(began))))
		case <-look.C:
			if !isHurried && (s.Strays.hasHalf(string(id)) || s.losesRest()) {
				isHurried = true
				patient, stop = s.Patient(ctx, min(limit, restTime), MaxPatience*limit)
				defer stop()
			}
			continue
		}
		return lastAnswer(got, out)
	}
}

// lastAnswer returns an outcome that came at the last moment, or out if none came.
func lastAnswer(got <-chan Outcome, out Outcome) Outcome {
	select {
	case answer := <-got:
		return answer
	default:
		return out
	}
}
