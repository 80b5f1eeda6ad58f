package view

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

const (
	maxNames   = 10 // the most requests or answers that a sentence names
	maxMethods = 30 // the most methods that a table lists
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
		isEnd := t.Evidence.Traffic != nil && t.Verdict != results.VerdictRunning
		if isEnd && !failed(t, s.Messages) {
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
		said := causes(s, messages)
		said = append(said, unansweredText(messages, file, command, len(said) > 0))
		if len(nonEmpty(said)) == 0 {
			said = append(said, largePipesText(messages))
		}
		said = append(said, noEndText(s, messages[len(messages)-1].Run))
		said = append(said, slowestText(stat.Calls(messages), messages))
		for _, text := range nonEmpty(said) {
			if len(servers) > 1 {
				text = command + ": " + text
			}
			out = append(out, text)
		}
	}
	return out
}

// largePipesText says that the pipes of the tap command, which hold 1 MiB, may hide a deadlock.
func largePipesText(messages []results.Message) string {
	largest := make(map[string]int64)
	for _, m := range messages {
		largest[m.Dir] = max(largest[m.Dir], m.Size)
	}
	const usualPipe = 64 << 10
	if min(largest["request"], largest["reply"]) <= usualPipe {
		return ""
	}
	return "Messages above 64 KiB went both ways: the larger pipes of pipebench tap may hide " +
		"that both sides write and neither reads. If it hangs without tap: pipebench inspect PID."
}

// noEndText says what to do about a recording that is not finished.
func noEndText(s *results.Set, run string) string {
	t := recordedTarget(s, run)
	if t != nil && t.Verdict != results.VerdictRunning {
		return ""
	}
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

// slowestText names the slowest answer. It leaves out that to initialize, which includes the start
// of the server.
func slowestText(calls []stat.Call, messages []results.Message) string {
	var slowest stat.Call
	for _, c := range calls {
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
		text += ", right after " + messageName(slowest.Before, messages)
	}
	return text + "."
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
