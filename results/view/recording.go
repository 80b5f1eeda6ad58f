package view

import (
	"fmt"
	"strconv"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// thresholds are message sizes at which something is known to change: a page and Linux's PIPE_BUF,
// the usual capacity of a pipe, and two limits that are in use for a message.
var thresholds = []int64{4 << 10, 64 << 10, 10 << 20, 16 << 20}

const (
	// maxUnanswered is the number of requests without an answer that are named.
	maxUnanswered = 10

	// notableStall is the least that is said of stalls, in ns: below, they are the wake-ups of an
	// idle CPU.
	notableStall = 1e8

	// maxMethods is the number of methods of a recording that a table lists.
	maxMethods = 30
)

// recordingSummary says what was recorded, and what of it went wrong: requests without an answer,
// answers that are errors, times in which a side took nothing. Of a recording of nothing it says
// how it ended. What the recorded programs wrote is escaped.
func recordingSummary(s *results.Set) []string {
	if len(s.Messages) == 0 {
		return endings(s)
	}
	requests := 0
	errorAnswers := 0
	largest := int64(0)
	for _, m := range s.Messages {
		largest = max(largest, m.Size)
		if m.Dir == "request" {
			requests++
		}
		if m.Error {
			errorAnswers++
		}
	}
	out := []string{fmt.Sprintf(
		"The recording has %s to the server and %d from it, the largest of %s.",
		results.FormatCount(requests, "message"), len(s.Messages)-requests,
		results.FormatSize(largest))}
	times, unanswered := stat.Replies(s.Messages)
	if text := replySummary(times); text != "" {
		out = append(out, text)
	}
	if len(unanswered) > 0 {
		out = append(out, unansweredText(unanswered))
	}
	if errorAnswers > 0 {
		out = append(out, results.FormatCount(errorAnswers, "answer")+" by an error.")
	}
	if text := stallText(s.Messages, "request", "server"); text != "" {
		out = append(out, text)
	}
	if text := stallText(s.Messages, "reply", "client"); text != "" {
		out = append(out, text)
	}
	return out
}

// replySummary says how long replies took, "" if there were none.
func replySummary(times map[string][]int64) string {
	var all []int64
	for _, own := range times {
		all = append(all, own...)
	}
	l, err := results.NewLatency(all)
	if err != nil || l.Count == 0 {
		return ""
	}
	text := "Time to the reply: " + results.FormatCount(int(l.Count), "answer")
	for _, quantile := range quantileTexts(l, "slowest") {
		text += ", " + quantile
	}
	return text + "."
}

// unansweredText names requests without an answer.
func unansweredText(unanswered []results.Message) string {
	text := results.FormatCount(len(unanswered), "request") + " without an answer: "
	for i, m := range unanswered {
		if i > 0 {
			text += ", "
		}
		if i == maxUnanswered {
			text += "..."
			break
		}
		text += Escape(m.Method + " " + string(m.ID))
	}
	return text + "."
}

// stallText says how long a side took nothing of what went its way, "" if that is not worth a word.
func stallText(messages []results.Message, dir, side string) string {
	var sum, longest int64
	for _, m := range messages {
		if m.Dir == dir {
			sum += m.Stall
			longest = max(longest, m.Stall)
		}
	}
	if sum < notableStall {
		return ""
	}
	return fmt.Sprintf("The %s took nothing of what there was for %s in all, "+
		"for %s at the longest.", side, results.FormatDuration(float64(sum)),
		results.FormatDuration(float64(longest)))
}

// endings say how the servers ended that tap recorded.
func endings(s *results.Set) []string {
	var out []string
	for _, t := range s.Targets {
		if t.Evidence.Traffic == nil {
			continue
		}
		lasted := results.FormatDuration(float64(t.Evidence.Traffic.ElapsedNS))
		text := fmt.Sprintf("%s ended after %s: %s.", CommandName(t.Command), lasted, t.Verdict)
		out = append(out, Escape(text))
	}
	return out
}

// directionTable counts the messages each way, and those above the thresholds.
func directionTable(messages []results.Message) Table {
	t := Table{Title: "What passed", Columns: []Column{
		{Title: "direction", Key: true},
		{Title: "messages", Right: true, Key: true},
		{Title: "bytes", Right: true},
		{Title: "a second", Right: true},
		{Title: "largest", Right: true},
	}}
	for _, n := range thresholds {
		t.Columns = append(t.Columns, Column{Title: "over " + results.FormatSize(n), Right: true})
	}
	for _, own := range stat.Directions(messages) {
		var sum, largest int64
		over := make([]int, len(thresholds))
		for _, m := range own {
			sum += m.Size
			largest = max(largest, m.Size)
			for i, n := range thresholds {
				if m.Size > n {
					over[i]++
				}
			}
		}
		rate := ""
		if lasted := own[len(own)-1].T - own[0].T; lasted > 0 {
			rate = results.FormatNumber(float64(len(own))*1e9/float64(lasted), 3)
		}
		row := []string{own[0].Dir, strconv.Itoa(len(own)), results.FormatGrouped(sum), rate,
			results.FormatSize(largest)}
		for _, n := range over {
			row = append(row, strconv.Itoa(n))
		}
		t.Append(row...)
	}
	return t
}

// replyTable holds the times to the reply, the most frequent method first.
func replyTable(messages []results.Message) Table {
	t := Table{Title: "Time to the reply", Columns: []Column{
		{Title: "method", Style: Code, Key: true},
		{Title: "replies", Right: true, Key: true},
		{Title: "p50", Right: true},
		{Title: "p99", Right: true},
		{Title: "slowest", Right: true},
	}}
	times, _ := stat.Replies(messages)
	methods := stat.ByCount(times)
	for _, method := range methods[:min(len(methods), maxMethods)] {
		l, err := results.NewLatency(times[method])
		if err != nil {
			continue // a histogram that it made itself always encodes
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

// messageTable has a row for each message.
func messageTable(s *results.Set) Table {
	t := Table{Title: "What passed", Columns: []Column{
		{Title: "time", Data: "time (ns)", Right: true, Key: true},
		{Title: "dir", Key: true},
		{Title: "message", Data: "message (B)", Right: true, Key: true},
		{Title: "method", Key: true},
		{Title: "id", Key: true},
	}}
	for _, m := range s.Messages {
		t.AppendValues(
			nanosValue(float64(m.T)),
			textValue(m.Dir),
			bytesValue(m.Size),
			textValue(m.Method),
			textValue(string(m.ID)),
		)
	}
	return t
}
