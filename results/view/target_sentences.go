package view

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// TargetLine sums up a record of the drive command in one line.
func TargetLine(t results.Target) string {
	if sentence := targetSentence(t); sentence != "" {
		return Escape(sentence)
	}
	took := ""
	if ns := stat.MedianTime(t.Samples); ns > 0 && t.Served() {
		took = results.FormatDuration(ns)
	}
	parts := []string{results.FormatSize(t.Size) + ": " + FailureText(t), took, t.Evidence.Why}
	return Escape(strings.Join(nonEmpty(parts), ", "))
}

// targetSentences sums up each record about a size limit, about how times grow with the size of
// messages, or about a recording that was sent again.
func targetSentences(targets []results.Target) []string {
	var out []string
	for _, t := range targets {
		out = append(out, targetSentence(t))
	}
	return nonEmpty(out)
}

// targetSentence sums up a record about the largest message that a server takes, about how its time
// grows with the size of messages, or about a recording that was sent again. It returns "" for
// other records.
func targetSentence(t results.Target) string {
	switch {
	case t.Limit() != nil:
		return limitSentence(t)
	case t.RepliesStopped():
		e := t.Evidence.Limit
		return fmt.Sprintf("%s=%d: a reply of %s works; none was larger", e.Call, e.Asked,
			stat.FormatBytes(*t.SearchedTo))
	case t.Verdict == results.VerdictNotTried && t.Size == 0:
		return "large replies were not tried: " + t.Evidence.Why
	case t.SearchedTo != nil:
		side, until := "message", ""
		server := t.Evidence.Server
		if e := t.Evidence.Limit; e != nil {
			side = e.Side
			switch {
			case e.ByRequests:
				until = ", which is as far as requests went"
			case side != "request" || server == nil:
			case server.Uncompared:
				until = "; its answers came, and were not compared"
			case server.SmallReplies:
				until = " that calls no tool"
			}
		}
		return fmt.Sprintf("no limit on a %s up to %s%s", side,
			results.FormatSize(*t.SearchedTo), until)
	case t.Evidence.Replay != nil:
		return replaySentence(t)
	}
	if g, ok := stat.RecordedGrowth(t); ok {
		return g.String()
	}
	return ""
}

// FailureText returns the verdict on a server in words.
func FailureText(t results.Target) string {
	e := t.Evidence.Failure
	wroteErrors := e != nil && (e.StderrBytes > 0 || len(e.StderrTail) > 0)
	text := EndText(t.Verdict, wroteErrors)
	if e == nil || e.Partial == 0 {
		return text
	}
	limit := t.Evidence.Limit
	server := t.Evidence.Server
	isLine := server != nil && server.Framing == "ndjson"
	if isLine && limit != nil && limit.Call == "" && int64(limit.FailedAt) == e.Partial {
		return text + ": all " + stat.FormatBytes(e.Partial) + " came, its newline did not"
	}
	return text + " after " + stat.FormatBytes(e.Partial)
}

// limitSentence says up to which size messages work, and how larger ones fail.
func limitSentence(t results.Target) string {
	messages := t.LimitOf()
	limit := *t.Limit()
	e := t.Evidence.Limit
	if limit == 0 && e != nil && len(e.Uneven) > 0 {
		return fmt.Sprintf("%s of %s work, and smaller ones do not: %s", messages,
			stat.FormatBytes(int64(e.Uneven[0])), FailureText(t))
	}
	if limit == 0 {
		return fmt.Sprintf("none of the %s that were tried work: %s", messages, FailureText(t))
	}
	if e != nil && e.Call != "" {
		return fmt.Sprintf("%s=%d: %s of %s work; %s=%d: %s", e.Call, e.Asked, messages,
			stat.FormatBytes(limit), e.Call, e.FailedAt, FailureText(t))
	}
	if t.RequestLimit != nil && t.Verdict == "truncated" { // it was read whole
		messages = "answers to requests"
	}
	text := fmt.Sprintf("%s up to %s work", messages, stat.FormatBytes(limit))
	if size := t.Evidence.Size; size != nil {
		text += fmt.Sprintf(" (payload %s)", stat.FormatBytes(int64(size.PayloadBytes)))
	}
	larger := "one byte more"
	if e != nil && e.CutShort {
		larger = stat.FormatBytes(int64(e.FailedAt)) // no size in between was tried
	}
	text += "; " + larger + ": " + FailureText(t)
	if e != nil && e.Flaky {
		text += ", but not every time"
	}
	if e != nil && e.AtTwice != "" && e.AtTwice != t.Verdict {
		text += "; twice the limit: " + VerdictText(e.AtTwice)
	}
	return text
}

func replaySentence(t results.Target) string {
	replay := t.Evidence.Replay
	text := fmt.Sprintf("%s replayed, %d of them requests that were answered: %s",
		results.FormatCount(replay.Replayed, "message"), replay.Answered, FailureText(t))
	switch {
	case replay.FailedAtMessage > 0:
		return fmt.Sprintf("%s at message %d to the server (%s)", text, replay.FailedAtMessage,
			Escape(t.Evidence.Why))
	case len(t.Samples) == 0:
		return text
	case t.Verdict == string(results.CannotTell):
		text += fmt.Sprintf(" %d of %d answers", replay.Undecided, replay.Compared)
	}
	text += ", in " + results.FormatDuration(float64(t.Samples[0].ElapsedNS))
	for _, q := range [][2]string{{"p50", "p50"}, {"p99", "p99"}, {"max", "the longest"}} {
		took := quantileValue(latencyOf(t), q[0]).Text
		if took != "" {
			text += ", " + q[1] + " " + took
		}
	}
	return text
}

// targetAdvice gives the last advice on each verdict. A search for a limit knows more than the
// sweep before it, so there is no advice on a size of the sweep that lies above the limit.
func targetAdvice(targets []results.Target) []string {
	var out []string
	said := make(map[string]bool)
	limit := int64(math.MaxInt64)
	for _, t := range slices.Backward(targets) {
		if t.Evidence.Advice == "" || said[t.Verdict] || t.Size > limit {
			continue
		}
		said[t.Verdict] = true
		if t.Limit() != nil {
			limit = min(limit, *t.Limit())
		}
		text := FailureText(t) + ": "
		if e := t.Evidence.Failure; e != nil && len(e.StderrTail) > 0 {
			text += "its last words: " + e.StderrTail[len(e.StderrTail)-1] + "; "
		}
		out = append(out, text+t.Evidence.Advice)
	}
	slices.Reverse(out)
	return out
}

func targetNotes(targets []results.Target) []string {
	var all []warning
	total := 0
	for _, t := range targets {
		for _, text := range t.Warnings {
			all = append(all, warning{text: text})
		}
		if t.Evidence.Growth == nil { // growth is computed from the measurements
			total++
		}
	}
	return warningNotes(all, total, "measurement")
}
