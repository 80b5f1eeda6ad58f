package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

const (
	maxNames   = 10 // the most requests or answers that a sentence names
	maxMethods = 30 // the most methods that a table lists

	// mostLate is the part of its time that an answer may take after the client's next message or
	// end, if that may have made the server flush it.
	mostLate = 20
)

// recordingSummary says in sentences what a recording shows, and how the recorded servers ended.
// The parameter file is as in [Options].
func recordingSummary(s *results.Set, file string) []string {
	var out []string
	if len(s.Messages) > 0 {
		out = append(serversSummary(s, cmp.Or(file, "RECORDING")), messagesSummary(s.Messages)...)
	}
	for _, t := range s.Targets {
		// The drive command loaded a server without traffic, and serversSummary names a failed one.
		if t.Evidence.Traffic != nil && !failed(t, s.Messages) {
			out = append(out, Escape(CommandName(t.Command)+endText(s, t)))
		}
	}
	return out
}

// serversSummary says for each server what may have made it or its client wait.
func serversSummary(s *results.Set, file string) []string {
	servers := grouped(s.Messages, func(m results.Message) string {
		return recordedCommand(s, m.Run)
	})
	var out []string
	for _, messages := range servers {
		command := recordedCommand(s, messages[0].Run)
		calls := stat.Calls(messages)
		said := causes(s, messages)
		said = append(said, unansweredText(s, messages, file, command, len(said) > 0))
		if run := messages[len(messages)-1].Run; recordedTarget(s, run) == nil {
			said = append(said, noEndText(s, run))
		}
		said = append(said, slowestText(s, calls, messages))
		for _, text := range nonEmpty(said) {
			if len(servers) > 1 {
				text = command + ": " + text
			}
			out = append(out, text)
		}
	}
	return out
}

func noEndText(s *results.Set, run string) string {
	pid := "PID"
	if e, _ := s.Environment(run); e.PID > 0 {
		pid = strconv.Itoa(e.PID)
	}
	return "The recording has no end: the server still runs, or tap was killed. If it runs, " +
		"next: pipebench inspect " + pid + "; then end the client and look again."
}

func messagesSummary(messages []results.Message) []string {
	requests := 0
	errorAnswers := 0
	largest := int64(0)
	for _, m := range messages {
		largest = max(largest, m.Size)
		if m.Dir == "request" {
			requests++
		}
		if m.Error {
			errorAnswers++
		}
	}
	out := []string{fmt.Sprintf(
		"The recording has %s to the server and %d from it. The largest message has %s.",
		results.FormatCount(requests, "message"), len(messages)-requests,
		results.FormatSize(largest))}
	if errorAnswers > 0 {
		out = append(out, results.FormatCount(errorAnswers, "error")+" among the answers.")
	}
	return out
}

// unansweredText names the requests that got no answer. Unless the cause is named already, it says
// how to look for it. The server was started with the given command.
func unansweredText(
	s *results.Set, messages []results.Message, file, command string, isNamed bool,
) string {
	open := unanswered(stat.Calls(messages))
	if len(open) == 0 {
		return ""
	}
	text := results.FormatCount(len(open), "request") + " without an answer: " + requestNames(open)
	first := open[0]
	cause := cmp.Or(untakenText(s, open, messages), nullErrorText(first.Request, messages))
	isNamed = isNamed || cause != ""
	if first.Before.Size == 0 && isNamed { // the client sent nothing before it
		return text + cause + "."
	}
	if first.Before.Size == 0 {
		return text + ". Next: pipebench drive -- " + command +
			" looks for the cause, such as an answer that is not flushed."
	}
	text += ", "
	if len(open) > 1 {
		text += "the first "
	}
	text += "right after " + messageName(first.Before)
	if first.Before.Size == first.Largest.Size {
		text += ", the largest before it"
	} else {
		text += "; the largest before it was " + messageName(first.Largest)
	}
	cause = cmp.Or(cause, questionText(first.Request, messages))
	if cause == "" && !isNamed {
		cause = ". An answer was not written, or written and not flushed"
	}
	text += cause + ". " + nextStep(first.Request, file, command)
	if first.Request.Body != "" && !isNamed {
		text += ". If that is answered, pipebench inspect PID tells more while the client hangs"
	}
	return text
}

// untakenText names the first of the calls that was answered when the client had left.
func untakenText(s *results.Set, calls []stat.Call, messages []results.Message) string {
	for _, c := range calls {
		request := c.Request
		i := slices.IndexFunc(messages, func(m results.Message) bool {
			return m.Untaken && m.Run == request.Run && string(m.ID) == string(request.ID)
		})
		if i < 0 {
			continue
		}
		ended := traffic(s, request.Run, "request").EndedNS
		text := ". The answer to " + requestName(request) + " came when the client had left"
		late := messages[i].T - ended
		if ended > 0 && late <= (ended-request.T)/mostLate {
			text += ": perhaps the server does not flush its output"
		}
		return text
	}
	return ""
}

// nullErrorText says how many errors without an id came after an unanswered request.
func nullErrorText(request results.Message, messages []results.Message) string {
	came := selected(messages, func(m results.Message) bool {
		return m.Error && len(m.ID) == 0 && m.Run == request.Run && m.T >= request.T-request.Stall
	})
	if len(came) == 0 {
		return ""
	}
	return ". After it came " + results.FormatCount(len(came), "error") +
		" with the id null, which may be meant for it"
}

// questionText names an answered request from the server after an unanswered one. It also names one
// before it if the server wrote nothing since.
func questionText(request results.Message, messages []results.Message) string {
	since := int64(0)
	for _, m := range messages {
		if m.Dir == "reply" && m.Run == request.Run {
			since = min(m.T, request.T)
		}
	}
	for _, c := range stat.ServerCalls(messages) {
		if c.Answered && c.Request.Run == request.Run && c.Request.T >= since {
			return ". The server asked " + requestName(c.Request) + " and was answered; it may " +
				"not have read that answer"
		}
	}
	return ""
}

// nextStep says how to send an unanswered request again, together with all messages before it.
func nextStep(request results.Message, file, command string) string {
	const again = "pipebench drive --messages "
	if request.Body == "" {
		return "Record again with pipebench tap --bodies, then send it again: " + again +
			"RECORDING -- " + command
	}
	return "Send it again: " + again + file + " -- " + command
}

func unanswered(calls []stat.Call) []stat.Call {
	return selected(calls, func(c stat.Call) bool { return !c.Answered })
}

func slowestText(s *results.Set, calls []stat.Call, messages []results.Message) string {
	const start = "initialize" // its answer includes the start of the server
	var slowest stat.Call
	for _, c := range calls {
		counts := c.Request.Method != start || heldText(s, c, messages) != ""
		if c.Answered && c.NS > slowest.NS && counts {
			slowest = c
		}
	}
	if !slowest.Answered {
		return ""
	}
	text := "Slowest after the handshake: "
	if slowest.Request.Method == start {
		text = "Slowest: "
	}
	text += requestName(slowest.Request) + ", " + results.FormatDuration(float64(slowest.NS))
	if slowest.Before.Size > 0 {
		text += ", right after " + messageName(slowest.Before)
	}
	return text + "." + heldText(s, slowest, messages)
}

// heldText says if an answer came late, and right after the client's next message or end.
func heldText(s *results.Set, c stat.Call, messages []results.Message) string {
	next := traffic(s, c.Request.Run, "request").EndedNS
	event := "end"
	for _, m := range messages {
		if m.Run == c.Request.Run && m.Dir == "request" && m.T > c.Request.T {
			next = m.T
			event = "next message"
			break
		}
	}
	late := c.Request.T + c.NS - next
	if c.NS < longStall || late < 0 || late > c.NS/mostLate {
		return ""
	}
	return fmt.Sprintf(" The answer came %s after the client's %s: perhaps the server does not "+
		"flush its output.", results.FormatDuration(float64(late)), event)
}

func requestNames(calls []stat.Call) string {
	var names []string
	for _, c := range calls {
		names = append(names, requestName(c.Request))
	}
	return listed(names)
}

// listed lists names. It leaves out names for which a sentence has no room.
func listed(names []string) string {
	if len(names) > maxNames {
		names = append(names[:maxNames:maxNames], "...")
	}
	return strings.Join(names, ", ")
}

func requestName(m results.Message) string {
	return Escape(m.Method + " (id " + string(m.ID) + ")")
}

// messageName names a message to the server by its method and its size.
func messageName(m results.Message) string {
	name := Escape(m.Method)
	if name == "" {
		name = "an answer"
	}
	return name + " of " + stat.FormatBytes(m.Size)
}

// replyTable shows the times to the reply for each method, the most frequent method first.
func replyTable(messages []results.Message) Table {
	t := Table{Title: "Time to the reply", Columns: []Column{
		{Title: "method", Style: Code, Key: true},
		{Title: "replies", Right: true, Key: true},
		{Title: "p50", Right: true},
		{Title: "p99", Right: true},
		{Title: "slowest", Right: true},
	}}
	times := stat.Replies(messages)
	methods := stat.ByCount(times)
	for _, method := range methods[:min(len(methods), maxMethods)] {
		l, err := results.NewLatency(times[method])
		if err != nil {
			continue // cannot happen: the histogram was made just now
		}
		t.AppendValues(
			textValue(method),
			countValue(int64(len(times[method]))),
			quantileValue(l, "p50"),
			quantileValue(l, "p99"),
			quantileValue(l, "max"),
		)
	}
	return t
}

func messageTable(s *results.Set) Table {
	t := Table{Columns: []Column{
		{Title: "time (ns)"},
		{Title: "dir"},
		{Title: "message (B)"},
		{Title: "method"},
		{Title: "id"},
	}}
	for _, m := range s.Messages {
		t.Append(strconv.FormatInt(m.T, 10), m.Dir, strconv.FormatInt(m.Size, 10), m.Method,
			string(m.ID))
	}
	return t
}
