package target

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// What a small request met after a failure.
const (
	probeAnswered = "answered"
	probeSilent   = "silent"
	probeRefused  = "not taken"
	probeGone     = "gone"
)

// Explain finds out how a server failed: whether it lives, how it ended, and what it used since
// before.
func (s *Server) Explain(ctx context.Context, before Usage, out *Outcome) {
	out.Evidence = cmp.Or(out.Evidence, new(results.FailureEvidence))
	e := out.Evidence
	e.Accepted = out.accepted
	e.ServedBefore = s.served
	e.Offset = out.offset
	if e.UnreadStdin == nil && !s.Process.Ended(0) {
		s.noteUnread(e)
	}
	switch out.Verdict {
	case Deaf:
		s.explainSilence(ctx, before, out)
	case Endless: // nobody reads any more what it answers
	default:
		e.Probe = s.probe(ctx)
	}
	now := s.Usage()
	e.CPUNS = difference(now.CPU, before.CPU)
	e.PeakBytes = ifKnown(s.Process.PeakMemory())
	e.WaitedNS = int64(now.At.Sub(before.At))
	if s.Process.Ended(0) {
		state := s.Process.Cmd.ProcessState
		if _, name, ok := proc.Signaled(state); ok {
			e.Signal = name
		} else {
			e.ExitCode = new(state.ExitCode())
		}
		Within(s.Drained(), LeaveAtTerm)
	}
	e.StderrBytes = s.Stderr().Total() - before.Stderr
	e.StderrTail = s.StderrLines()
}

// noteUnread reads how many bytes wait in each pipe, if the system tells.
func (s *Server) noteUnread(e *results.FailureEvidence) {
	e.UnreadStdin = ifCounted(s.In.Unread())
	e.UnreadStdout = ifCounted(s.Out.Unread())
	e.UnreadStderr = ifCounted(s.StderrUnread())
}

func ifCounted(n int, known bool) *int64 {
	if !known {
		return nil
	}
	return new(int64(n))
}

// explainSilence finds a better word for a server that was not heard of.
func (s *Server) explainSilence(ctx context.Context, before Usage, out *Outcome) {
	e := out.Evidence
	switch {
	case s.Left(LeaveAtTerm):
		e.Probe = probeGone
		out.Verdict = s.ExitVerdict()
		n := s.Partial()
		if s.Strays.endsInHalf() { // a line framing delivers what it had when the stream ended
			n = s.Out.Bytes() - before.Received
		}
		if n > 0 {
			out.Why = fmt.Sprintf("the answer broke off after %d bytes, and the server ended with %s",
				n, out.Verdict)
			out.Verdict = Truncated
			e.Partial = n
		}
	case e.Unsent:
		e.Probe = probeRefused
		explainFull(out)
	default:
		partial := s.Partial() // the answer to the probe would end it
		e.Probe = s.probe(ctx)
		switch {
		case e.Probe == probeAnswered:
			out.Verdict = Unanswered
		case s.Process.Ended(0):
			out.Verdict = s.ExitVerdict()
		case partial > 0:
			out.Verdict = Truncated
			e.Partial = partial
			out.Why += fmt.Sprintf(", %d bytes of it came", partial)
		}
	}
}

// explainFull names the deadlock if a server that takes no request waits for a reader itself.
func explainFull(out *Outcome) {
	stream := "standard error"
	unread := out.Evidence.UnreadStderr
	if unread == nil || *unread == 0 {
		stream = "output"
		unread = out.Evidence.UnreadStdout
	}
	if unread != nil && *unread > 0 {
		out.Verdict = Deadlock
		out.Why = fmt.Sprintf("the request was not taken, and %d bytes of its %s wait for a reader",
			*unread, stream)
	}
}

// probe asks the server for a sign of life.
func (s *Server) probe(ctx context.Context) string {
	if s.Process.Ended(0) {
		return probeGone
	}
	out := s.exchange(ctx, s.Protocol().Smallest(Transport), manyIDs-1, s.o.Patience)
	switch {
	case out.Verdict == OK, out.Verdict == ErrorReply:
		return probeAnswered
	case s.Process.Ended(0) || s.Left(LeaveAtTerm):
		return probeGone
	case out.Evidence != nil && out.Evidence.Unsent:
		return probeRefused
	}
	return probeSilent
}

// ExitVerdict says how the process ended. Call it only when it has.
func (s *Server) ExitVerdict() Verdict {
	state := s.Process.Cmd.ProcessState
	if _, name, ok := proc.Signaled(state); ok {
		return Verdict(signalPrefix + name)
	}
	return Verdict(fmt.Sprint(exitPrefix, state.ExitCode()))
}

// What of standard error goes into a record.
const (
	quotedLines = 5
	quotedText  = 300 // characters of a line
)

// Lines of standard error that say what went wrong, and those that only say where.
var (
	errorLine = regexp.MustCompile(
		`(?i)error|exception|panic|fatal|exceed|too (long|large|big)|limit|overflow|cannot|failed`,
	)
	stackLine = regexp.MustCompile(
		`^(at |File "|goroutine \d|\S+\.go:\d|node:internal|\^+$|Node\.js v\d)`,
	)
)

// StderrLines returns the last lines on standard error, shortened, without those of a stack trace.
// The last that looks like an error is among them: a program may say much after it.
func (s *Server) StderrLines() []string {
	var out []string
	failure := -1 // the last line that looks like one
	for line := range strings.Lines(s.Stderr().String()) {
		line = strings.ToValidUTF8(strings.TrimSpace(line), "\uFFFD")
		if line == "" || stackLine.MatchString(line) {
			continue
		}
		if errorLine.MatchString(line) {
			failure = len(out)
		}
		out = append(out, view.Truncate(line, quotedText))
	}
	last := max(0, len(out)-quotedLines)
	if failure >= 0 && failure < last {
		out[last] = out[failure]
	}
	return out[last:]
}

// A Usage is what both sides had done at a time.
type Usage struct {
	At             time.Time
	Sent, Received int64  // bytes that the pipe took of ours, and that came
	Calls          int64  // ours, to write and to read
	Stderr         int64  // bytes that the server wrote there
	CPU            *int64 // ns of a CPU that the server used; nil if the system does not tell
}

// Usage reads where both sides are.
func (s *Server) Usage() Usage {
	return Usage{
		At: time.Now(), Sent: s.In.Bytes(), Received: s.Out.Bytes(),
		Calls:  s.In.Calls() + s.Out.Calls(),
		Stderr: s.Stderr().Total(), CPU: ifKnown(s.Process.CPU()),
	}
}

// ifKnown returns what a system told of a process, nil if it did not.
func ifKnown[N ~int64](n N, known bool) *int64 {
	if !known {
		return nil
	}
	return new(int64(n))
}

// difference returns by how much a figure went up; nil if it is not known.
func difference(now, before *int64) *int64 {
	if now == nil || before == nil {
		return nil
	}
	return new(*now - *before)
}

// A Pace predicts how long a server takes, after what it took for another size.
type Pace struct {
	Size int // bytes of the largest message that was answered
	Took time.Duration
}

// firstGuess is for a server of which nothing is known: twice the slowest that was measured, an SDK
// example that logs what it gets.
const firstGuess = 800 * time.Nanosecond // a byte

// Predict returns how long a message of size bytes takes if time grows as size does. What a small
// message took is mostly what every one costs, and says little about a large one.
func (p Pace) Predict(size int) time.Duration {
	switch {
	case p.Size == 0:
		return time.Duration(size) * firstGuess
	case size <= p.Size:
		return p.Took
	case p.Size < stat.LinearFrom:
		return p.Took + time.Duration(size-p.Size)*firstGuess
	}
	return time.Duration(float64(p.Took) * float64(size) / float64(p.Size))
}

// Margin is how much slower than predicted a server may be.
const Margin = 10

// Limit returns how long a server of that pace has for a request of size bytes, beside the least
// that it has for any.
func (p Pace) Limit(patience time.Duration, size int) time.Duration {
	return patience + Margin*p.Predict(size)
}
