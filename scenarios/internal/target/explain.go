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
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/syspipe/inspect"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Results of a probe, a small request that is sent after a failure.
const (
	probeAnswered = "answered"
	probeSilent   = "silent"
	probeRefused  = "not taken"
	probeGone     = "gone"
)

// Explain finds out how a server failed, and notes it in out. The parameter before holds what the
// server had used when the request began.
func (s *Server) Explain(ctx context.Context, before Usage, out *Outcome) {
	out.Evidence = cmp.Or(out.Evidence, new(results.FailureEvidence))
	e := out.Evidence
	e.Accepted = out.accepted
	e.SentBefore = before.Sent
	e.ServedBefore = s.served[Tool]
	if !s.Protocol().CallsTool() {
		e.ServedBefore += s.served[Transport]
	}
	e.Offset = out.offset
	if e.UnreadStdin == nil && !s.Process.Ended(0) {
		s.noteUnread(e)
		out.nonBlocking = proc.NonBlocking(s.Process.Cmd.Process.Pid, 1)
	}
	question := s.question.Load()
	switch out.Verdict {
	case Deaf:
		s.explainSilence(ctx, out)
	case Corrupt:
		out.isOfMixing(s.Strays.takeArrivals())
		e.Probe = s.probe(ctx, false /* brief */)
	case Endless: // no probe: nobody would read the answer
	default:
		e.Probe = s.probe(ctx, false /* brief */)
	}
	if n := out.arrivals.notifications; n > 0 {
		out.Why += fmt.Sprintf("; %s came meanwhile, the last: %s",
			results.FormatCount(n, "notification"), out.arrivals.notification)
	}
	e.Computed = e.Computed && (out.Verdict == Deaf || out.Verdict == Unanswered)
	if e.Computed {
		out.Why += "; it computed all that time"
	} else if out.Verdict == Deaf && !e.Unsent && question != nil {
		e.Question = *question
		out.Why += fmt.Sprintf("; the server asked %s, was answered, and wrote nothing since",
			*question)
	}
	now := s.Usage()
	e.CPUNS = difference(now.CPU, before.CPU)
	e.PeakBytes = ifKnown(s.Process.PeakMemory())
	if s.Process.Ended(0) {
		state := s.Process.Cmd.ProcessState
		if _, name, ok := proc.Signaled(state); ok {
			e.Signal = name
		} else {
			e.ExitCode = new(state.ExitCode())
		}
		child.Within(s.Drained(), LeaveAtTerm)
	}
	e.StderrBytes = s.Stderr.Total() - before.Stderr
	e.StderrTail = s.StderrLines()
}

// isIgnored reports whether the server read a request and the probe after it, and did nothing.
func (o *Outcome) isIgnored() bool {
	e := o.Evidence
	return o.Verdict == Deaf && e.Probe == probeSilent && !e.Computed && e.Question == "" &&
		(e.UnreadStdin == nil || *e.UnreadStdin == 0)
}

// explainAtEnd ends the server's input if the server has answered nothing since a request and does
// not compute. If the answer comes then, the verdict becomes Buffered; a child that read the input
// before is named.
func (s *Server) explainAtEnd(out *Outcome) {
	if out.Verdict != Deaf || out.Evidence.Probe != probeSilent || out.Evidence.Computed {
		return
	}
	report, err := inspect.Process(s.Process.Cmd.Process.Pid)
	s.CloseInput()
	child.Within(s.Closed(), LeaveAtEnd)
	select {
	case <-out.answer:
		out.Verdict = Buffered
		out.Why += "; it came at the end of the input"
	default:
		return
	}
	if err != nil {
		return // the advice on the verdict names both causes
	}
	for _, d := range report.Diagnoses {
		if d.Kind == inspect.ChildAtStdin {
			out.Remedy = d.Sentence
		}
	}
}

// noteUnread notes how many bytes wait in each pipe, as far as the system tells.
func (s *Server) noteUnread(e *results.FailureEvidence) {
	e.UnreadStdin = ifKnown(s.In.Unread())
	e.UnreadStdout = ifKnown(s.Out.Unread())
	e.UnreadStderr = ifKnown(s.StderrUnread())
}

// explainSilence finds a more exact verdict for a server that gave no answer.
func (s *Server) explainSilence(ctx context.Context, out *Outcome) {
	e := out.Evidence
	switch {
	case s.Left(LeaveAtTerm):
		e.Probe = probeGone
		out.Verdict = s.ExitVerdict()
		partial := cmp.Or(s.Strays.HalfLine(), s.Partial())
		if partial > 0 {
			out.Why = fmt.Sprintf(
				"the answer broke off after %s, and the server ended with %s",
				stat.FormatBytes(partial), out.Verdict)
			out.Verdict = Truncated
			e.Partial = partial
		}
	case e.Unsent:
		e.Probe = probeRefused
		explainFull(out)
	default:
		partial := s.begun() // read before the probe, whose answer would end the message
		out.arrivals = s.Strays.takeArrivals()
		wrong := ""
		if s.countsBytes() {
			out.pending = s.Pending()
			wrong = lengthText(out.arrivals, out.pending)
		}
		if out.isOfBeginning(partial) {
			return
		}
		e.Probe = s.probe(ctx, e.Computed)
		if out.cameLate() {
			return
		}
		switch {
		case out.isOfMixing(out.arrivals):
		case out.pending.Length <= 0 && wrong != "":
			out.Verdict = WrongLength
			out.Why = wrong
		case e.Probe == probeAnswered && out.arrivals.n == 1 && out.arrivals.isHalf(out.id):
			out.Verdict = Truncated
			e.Partial = int64(out.arrivals.cut)
			out.Why = stat.FormatBytes(e.Partial) + " of the answer came, as a line, and no more"
		case out.arrivals.id != "":
			out.Verdict = Unanswered
			out.Why += fmt.Sprintf(", but one with id %s, and the request has id %s",
				out.arrivals.id, out.id)
		case e.Probe == probeAnswered:
			out.Verdict = Unanswered
			if out.arrivals.n > 0 {
				out.Why += ", but " + out.arrivals.String()
			}
		case s.Process.Ended(0): // until it was probed, it hung
			out.Why += fmt.Sprintf("; when it was sent another request, it ended: %s",
				s.ExitVerdict())
		case partial > 0:
			out.Verdict = Truncated
			e.Partial = partial
			if wrong != "" {
				out.Why += "; " + wrong
			} else {
				out.Why += fmt.Sprintf(", %s of it came", stat.FormatBytes(partial))
			}
		case out.arrivals.n > 0:
			out.Why += ", but " + out.arrivals.String()
		}
	}
}

// isOfBeginning reports whether a probe would do harm, because text or the beginning of an answer
// came. If so, it notes which.
func (o *Outcome) isOfBeginning(partial int64) bool {
	text := strings.TrimSpace(o.pending.Text)
	switch {
	case text != "" && o.arrivals.n == 0: // such as a prompt: a probe would be its answer
		o.arrivals.add([]byte(text), true /* foreign */)
		o.Why += ", but " + o.arrivals.String()
	case partial > 0 && o.nonBlocking: // an answer to a probe would only end the message
		o.Verdict = Truncated
		o.Why += fmt.Sprintf(", %s of it came, and its standard output is non-blocking",
			stat.FormatBytes(partial))
		o.Evidence.Partial = partial
	default:
		return false
	}
	return true
}

// cameLate reports whether an answer came after its time limit. If so, o gets the verdict on that
// answer.
func (o *Outcome) cameLate() bool {
	select {
	case late := <-o.answer:
		o.Verdict = late.Verdict
		o.Why = late.Why
		o.code = late.code
		o.Evidence.Offset = late.offset
		if late.Verdict == OK {
			o.Verdict = Late
			o.Why = fmt.Sprintf("the answer came after %s, when another request had been sent",
				late.Took.Round(time.Millisecond))
		}
		return true
	default:
		return false
	}
}

// WhyMixed says what was seen of messages that mix.
const WhyMixed = "a message came with the beginning of another in it"

// isOfMixing reports whether a message came with the beginning of another in it, and blames that.
func (o *Outcome) isOfMixing(a arrivals) bool {
	if a.mixed {
		o.Verdict = Mixed
		o.Why += "; " + WhyMixed
	}
	return a.mixed
}

// explainFull makes the verdict Deadlock if the server has written output that we have not read.
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

// probe sends a small request, and returns what came of it, such as probeAnswered. If brief is set,
// it does not wait long for a server that is at work.
func (s *Server) probe(ctx context.Context, brief bool) string {
	if s.Process.Ended(0) {
		return probeGone
	}
	before := s.receive.Load() // the receiver of a request that may still be answered
	defer s.receive.Store(before)
	const number = manyIDs - 1 // no other request has so high a number
	request := s.Protocol().Smallest(Transport)
	request.Brief = brief
	out := s.exchange(ctx, request, number, s.o.Patience)
	switch {
	case out.Verdict == OK || out.Verdict == ErrorReply:
		return probeAnswered
	case s.Process.Ended(0) || s.Left(LeaveAtTerm):
		return probeGone
	case out.Evidence != nil && out.Evidence.Unsent:
		return probeRefused
	}
	return probeSilent
}

// ExitVerdict says how the process ended. Call it only after the process has ended.
func (s *Server) ExitVerdict() Verdict {
	state := s.Process.Cmd.ProcessState
	if _, name, ok := proc.Signaled(state); ok {
		return Verdict(results.SignalPrefix + name)
	}
	return Verdict(fmt.Sprint(results.ExitPrefix, state.ExitCode()))
}

// Limits of what is quoted of standard error.
const (
	quotedLines = 5
	quotedText  = 300 // characters of a line
)

// errorLine matches lines that say what went wrong. The lines that stackLine matches only say
// where.
var (
	errorLine = regexp.MustCompile(
		`(?i)error|exception|panic|fatal|exceed|too (long|large|big)|limit|overflow|cannot|failed`)
	stackLine = regexp.MustCompile(
		`^(at |Emitted 'error' event|File "|goroutine \d|\S+\.go:\d|node:internal|\^+$|` +
			`Node\.js v\d)`)
)

// StderrLines returns the last lines on standard error, without stack traces. They always include
// the last line that looks like an error.
func (s *Server) StderrLines() []string {
	var out []string
	failure := -1 // the index in out of the last line that looks like an error
	for line := range strings.Lines(s.Stderr.String()) {
		line = strings.ToValidUTF8(strings.TrimSpace(line), "\uFFFD")
		if line == "" || stackLine.MatchString(line) {
			continue
		}
		if errorLine.MatchString(line) {
			failure = len(out)
		}
		out = append(out, view.Truncate(line, quotedText))
		if strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "panic: ") {
			break // stacks of a Go program follow
		}
	}
	if failure >= 0 && strings.Trim(out[len(out)-1], "{}[]()") == "" {
		out = out[:failure+1] // Node prints the properties of an error below its message
	}
	last := max(0, len(out)-quotedLines)
	if failure >= 0 && failure < last { // it would be cut off: quote it first
		out[last] = out[failure]
	}
	return out[last:]
}
