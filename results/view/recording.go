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
	maxUnanswered = 10 // the most requests without an answer that a sentence names
	maxMethods    = 30 // the most methods that a table lists
)

// recordingSection shows the messages that the tap command recorded.
func recordingSection(s *results.Set) Section {
	return Section{
		ID:     "recording",
		Title:  "A recording",
		Tables: []Table{directionTable(s.Messages), replyTable(s.Messages)},
	}
}

// recordingSummary says in sentences what a recording shows, and how the recorded servers ended.
// The parameter file is as in [Options].
func recordingSummary(s *results.Set, file string) []string {
	var out []string
	if len(s.Messages) > 0 {
		out = append(serversSummary(s, cmp.Or(file, "RECORDING")), messagesSummary(s.Messages)...)
	}
	for _, t := range s.Targets {
		if t.Evidence.Traffic == nil { // not of a recording: the drive command loaded this server
			continue
		}
		lasted := t.Evidence.Traffic.ElapsedNS
		text := fmt.Sprintf("%s ended after %s: %s.", CommandName(t.Command),
			results.FormatDuration(float64(lasted)), t.Verdict)
		if open := t.Evidence.Traffic.OutputOpenNS; open >= longStall {
			text += fmt.Sprintf(" Its output stayed open %s after that: a process that it left "+
				"behind holds it.", results.FormatDuration(float64(open)))
		}
		inputEnded := t.Evidence.Traffic.Requests.EndedNS
		if inputEnded > 0 && lasted-inputEnded >= longStall {
			text += fmt.Sprintf(" It stayed %s after the end of its input",
				results.FormatDuration(float64(lasted-inputEnded)))
			isOwn := func(c stat.Call) bool { return c.Request.Run == t.Run }
			if slices.ContainsFunc(unanswered(stat.Calls(s.Messages)), isOwn) {
				text += ", with a request open."
			} else {
				text += ". Next: pipebench check --server --only end-idle -- " +
					recordedCommand(s, t.Run)
			}
		}
		out = append(out, Escape(text))
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
		said := append(causes(s, messages), unansweredText(calls, file, command))
		if recordedTarget(s, messages[len(messages)-1].Run) == nil {
			said = append(said, "The recording has no end: the server still runs, or tap was "+
				"killed. If it runs, next: pipebench inspect PID; then end the client and look "+
				"again.")
		}
		said = append(said, slowestText(calls))
		for _, text := range nonEmpty(said) {
			if len(servers) > 1 {
				text = command + ": " + text
			}
			out = append(out, text)
		}
	}
	return out
}

// messagesSummary counts the messages and the errors.
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

// unansweredText names the requests that got no answer, and suggests what to run next. The server
// was started with the given command.
func unansweredText(calls []stat.Call, file, command string) string {
	open := unanswered(calls)
	if len(open) == 0 {
		return ""
	}
	text := results.FormatCount(len(open), "request") + " without an answer: " + requestNames(open)
	first := open[0]
	if first.Before.Size == 0 { // the client sent nothing before it
		return text + ". Next: pipebench drive -- " + command +
			" looks for the cause, such as an answer that is not flushed."
	}
	text += ", "
	if len(open) > 1 {
		text += "the first "
	}
	text += afterText(first)
	if first.Before.Size == first.Largest.Size {
		text += ", the largest before it"
	} else {
		text += "; the largest before it was " + messageName(first.Largest)
	}
	return text + ". " + nextStep(first.Request, file, command)
}

// nextStep says how to send an unanswered request again, together with all messages before it.
func nextStep(request results.Message, file, command string) string {
	const again = "pipebench drive --messages "
	if request.Body == "" {
		return "Record again with pipebench tap --bodies, then send it again: " + again +
			"RECORDING -- " + command
	}
	return "Send it again: " + again + file + " -- " + command +
		". If that is answered, pipebench inspect PID tells more while the client hangs"
}

// unanswered returns the calls that got no answer.
func unanswered(calls []stat.Call) []stat.Call {
	return selected(calls, func(c stat.Call) bool { return !c.Answered })
}

// slowestText names the request whose answer took longest.
func slowestText(calls []stat.Call) string {
	var slowest stat.Call
	for _, c := range calls {
		// the answer to initialize includes the start of the server
		if c.Answered && c.NS > slowest.NS && c.Request.Method != "initialize" {
			slowest = c
		}
	}
	if !slowest.Answered {
		return ""
	}
	text := "Slowest after the handshake: " + requestName(slowest.Request) + ", " +
		results.FormatDuration(float64(slowest.NS))
	if slowest.Before.Size > 0 {
		text += ", " + afterText(slowest)
	}
	return text + "."
}

// afterText says what the client sent right before a request.
func afterText(c stat.Call) string { return "right after " + messageName(c.Before) }

// requestNames lists the requests of calls. It leaves out requests for which a sentence has no
// room.
func requestNames(calls []stat.Call) string {
	var names []string
	for _, c := range calls[:min(len(calls), maxUnanswered)] {
		names = append(names, requestName(c.Request))
	}
	if len(calls) > maxUnanswered {
		names = append(names, "...")
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

// directionTable counts the messages in each direction.
func directionTable(messages []results.Message) Table {
	t := Table{Title: "What passed", Columns: []Column{
		{Title: "direction", Key: true},
		{Title: "messages", Right: true, Key: true},
		{Title: "bytes", Right: true},
		{Title: "largest", Right: true},
	}}
	for _, dir := range []string{"request", "reply"} {
		count := 0
		var sum, largest int64
		for _, m := range messages {
			if m.Dir == dir {
				count++
				sum += m.Size
				largest = max(largest, m.Size)
			}
		}
		if count > 0 {
			t.Append(dir, strconv.Itoa(count), results.FormatGrouped(sum),
				results.FormatSize(largest))
		}
	}
	return t
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
