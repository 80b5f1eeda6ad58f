package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// WriteDrive writes what records say about the servers that were driven. For people it writes
// whether the server passed, a table of sizes and loads, then the limits, the growth, and advice.
// CSV has a row per record; JSON has the [DriveResult], then the records.
func WriteDrive(w io.Writer, format Format, set *results.Set, o Options) error {
	if len(set.Targets) == 0 {
		return ErrNothing
	}
	result := resultOf(set.Targets)
	switch format {
	case FormatJSON:
		return WriteJSON(w, struct {
			DriveResult
			setJSON
		}{result, newSetJSON(set)})
	case FormatCSV:
		return targetTable(set, set.Targets).Write(w, format, o)
	case FormatBench:
		return Write(w, set, format, o)
	}
	p := Page{Verdict: result.text, Tone: result.tone, Header: []string{drivenBy(set)}}
	p.addTable(loadTable(set, set.Targets))
	p.Conclusions = append(targetSentences(set.Targets), targetAdvice(set.Targets)...)
	p.Notes = targetNotes(set.Targets)
	if result.Passed {
		p.Notes = append(p.Notes, nextAfterDrive)
	}
	return p.Write(w, format, o)
}

// nextAfterDrive is what to do about a server that passes here, but not with its client.
const nextAfterDrive = "If it hangs with your client: pipebench check --server tries what bad " +
	"clients do, and pipebench inspect PID looks at it while it hangs."

// drivenBy says what was driven, and how. It looks at the last record, because the framing of a
// server may be found out only during the run.
func drivenBy(set *results.Set) string {
	t := set.Targets[len(set.Targets)-1]
	command := strings.Join(t.Command, " ")
	e := t.Evidence.Server
	if e == nil {
		return command
	}
	return fmt.Sprintf("%s: %s, %s framing, %s", command, e.Spoken, e.Framing, e.Request)
}

// loadTable shows the sizes and loads of one server to a person, who knows what was driven.
func loadTable(s *results.Set, targets []results.Target) Table {
	var sized []results.Target
	for _, t := range targets {
		if t.Size > 0 {
			sized = append(sized, t)
		}
	}
	t := targetTable(s, sized)
	return t.only(func(i int) bool { return t.Columns[i].Style != Code })
}

// targetTable has a row for each record about a server. Times are only of requests that were
// answered.
func targetTable(s *results.Set, targets []results.Target) Table {
	t := Table{Columns: []Column{
		{Title: "command", Style: Code, Detail: true},
		{Title: "machine", Style: Code, Detail: true},
		{Title: "protocol", Style: Code, Detail: true},
		{Title: "message", Data: "message (B)", Right: true, Key: true},
		{Title: "in flight", Right: true, Key: true},
		{Title: "rate asked", Data: "rate asked (/s)", Right: true},
		{Title: "verdict", Style: Verdict, Key: true},
		{Title: "time", Data: "time (ns)", Right: true},
		{Title: "p50", Data: "p50 (ns)", Right: true},
		{Title: "p99", Data: "p99 (ns)", Right: true},
		{Title: "requests/s", Data: "requests (/s)", Right: true},
		{Title: "ns/B", Data: "time (ns/B)", Right: true},
		{Title: "MB/s, in + out", Data: "both ways (B/s)", Right: true},
		{Title: "server memory", Data: "server memory (B)", Right: true},
		{Title: "out of order", Right: true},
		{Title: "n", Right: true},
		{Title: "limit", Data: "limit (B)", Right: true, Detail: true},
		{Title: "found", Style: Code, Detail: true},
	}}
	for _, target := range targets {
		t.AppendValues(targetRow(s, target)...)
	}
	return t.dropEmpty()
}

// targetRow returns the values of a record. A record of a load is about all its requests together,
// a record of a size about single requests.
func targetRow(s *results.Set, t results.Target) []Value {
	var inFlight, asked, time, p50, p99, rate, perByte, bothWays, outOfOrder, trips Value
	ns := stat.MedianTime(t.Samples)
	load := t.Evidence.Load
	timed := ns > 0 && (t.Served() || load != nil)
	if timed {
		l := latencyOf(t)
		p50 = quantileValue(l, "p50")
		p99 = quantileValue(l, "p99")
	}
	if load != nil {
		inFlight = countValue(int64(load.Inflight))
		outOfOrder = countValue(load.OutOfOrder)
		if load.Rate > 0 {
			asked = figureValue(load.Rate, results.FormatNumber(load.Rate, 3))
		}
	}
	switch {
	case timed && load != nil:
		rate = figureValue(1e9/ns, results.FormatGrouped(int64(1e9/ns)))
	case timed:
		time = nanosValue(ns)
		trips = countValue(tripsOf(t))
	}
	if timed && load == nil && t.Size > 0 {
		bytes := float64(t.Size)
		perByte = figureValue(ns/bytes, results.FormatNumber(ns/bytes, 3))
		if e := t.Evidence.Size; e != nil {
			bytes += float64(e.ReplyBytes)
		}
		bothWays = figureValue(bytes/ns*1e9, results.FormatNumber(bytes/ns*1e3, 3))
	}
	return []Value{
		textValue(strings.Join(t.Command, " ")),
		textValue(machineTitle(s, s.Machine(t.Run))),
		textValue(t.Protocol),
		sizeValue(t.Size),
		inFlight,
		asked,
		verdictValue(t.Verdict),
		time,
		p50,
		p99,
		rate,
		perByte,
		bothWays,
		memoryValue(t),
		outOfOrder,
		trips,
		limitValue(t),
		textValue(targetSentence(t)),
	}
}

// tripsOf counts the round trips of a target.
func tripsOf(t results.Target) int64 {
	var trips int64
	for _, s := range t.Samples {
		trips += s.Messages
	}
	return trips
}

// sizeValue shows a size, nothing if it is not known.
func sizeValue(n int64) Value {
	if n == 0 {
		return Value{}
	}
	return bytesValue(n)
}

// limitValue shows the limit that a record is about, nothing if it is about none.
func limitValue(t results.Target) Value {
	if t.RequestLimit == nil && t.ReplyLimit == nil {
		return Value{}
	}
	return bytesValue(limitOf(t))
}

// quantileValue shows one of [results.Quantiles], nothing if the latency does not carry it.
func quantileValue(l results.Latency, name string) Value {
	ns := l.Quantile(name)
	if ns == nil {
		return Value{}
	}
	return nanosValue(float64(*ns))
}

// quantileTexts are p50, p99 and the longest of the times that a latency has.
func quantileTexts(l results.Latency, longestName string) []string {
	var out []string
	shown := []struct{ name, as string }{{"p50", "p50"}, {"p99", "p99"}, {"max", longestName}}
	for _, q := range shown {
		if text := quantileValue(l, q.name).Text; text != "" {
			out = append(out, q.as+" "+text)
		}
	}
	return out
}

// latencyOf returns the latency of all samples of a target together. In an open loop it is counted
// from when requests were due.
func latencyOf(t results.Target) results.Latency {
	l, err := results.MergeLatencies(t.Samples, "roundtrip", "due")
	if err != nil { // a damaged latency is shown as none
		return results.Latency{}
	}
	return l
}

// memoryValue shows the server's largest resident memory, nothing if it is not known.
func memoryValue(t results.Target) Value {
	peak := int64(0)
	if e := t.Evidence.Failure; e != nil && e.PeakBytes != nil {
		peak = *e.PeakBytes
	}
	for _, s := range t.Samples {
		if s.Reader.PeakBytes != nil {
			peak = max(peak, *s.Reader.PeakBytes)
		}
	}
	if peak == 0 {
		return Value{}
	}
	return figureValue(float64(peak), results.FormatNumber(float64(peak)/(1<<20), 3)+" MiB")
}

// TargetLine writes a record in a line, for the progress of a run.
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

// targetSentences are the limits, the growth and the replays.
func targetSentences(targets []results.Target) []string {
	var out []string
	for _, t := range targets {
		if sentence := targetSentence(t); sentence != "" {
			out = append(out, sentence)
		}
	}
	return out
}

// targetSentence sums up a record of a limit, of growth or of a replay; "" for a record of one
// size.
func targetSentence(t results.Target) string {
	switch {
	case t.RequestLimit != nil:
		return limitSentence("requests", *t.RequestLimit, t)
	case t.ReplyLimit != nil:
		return limitSentence("replies", *t.ReplyLimit, t)
	case t.SearchedTo != nil:
		side, until := "message", ""
		if e := t.Evidence.Limit; e != nil {
			side = e.Side
			if e.ByRequests {
				until = ", which is as far as requests go"
			}
		}
		return fmt.Sprintf("no limit on a %s up to %s%s", side,
			stat.FormatBytes(*t.SearchedTo), until)
	case t.Evidence.Replay != nil:
		return replaySentence(t)
	}
	if g, ok := stat.RecordedGrowth(t); ok {
		return g.String()
	}
	return ""
}

// FailureText returns a target's verdict in words. A target that wrote errors is not said to have
// exited silently.
func FailureText(t results.Target) string {
	return EndText(t.Verdict, wroteErrors(t))
}

// wroteErrors reports whether a target that failed wrote to its standard error.
func wroteErrors(t results.Target) bool {
	e := t.Evidence.Failure
	return e != nil && (e.StderrBytes > 0 || len(e.StderrTail) > 0)
}

func limitSentence(what string, n int64, t results.Target) string {
	if n == 0 {
		return fmt.Sprintf("%s of no size work: %s", what, FailureText(t))
	}
	s := fmt.Sprintf("%s up to %s work", what, stat.FormatBytes(n))
	if e := t.Evidence.Size; e != nil {
		s += fmt.Sprintf(" (payload %s)", stat.FormatBytes(int64(e.PayloadBytes)))
	}
	above := "one byte more"
	atTwice, often := "", ""
	if e := t.Evidence.Limit; e != nil {
		if e.Side == "request" && int64(e.FailedAt) > n+1 {
			// there was no time to find the exact byte
			above = stat.FormatBytes(int64(e.FailedAt))
		} else if e.CutShort {
			above = "larger ones"
		}
		if e.AtTwice != t.Verdict {
			atTwice = e.AtTwice
		}
		if e.Flaky {
			often = ", but not every time"
		}
	}
	s += "; " + above + ": " + FailureText(t) + often
	if atTwice != "" {
		s += "; twice the limit: " + VerdictText(atTwice)
	}
	return s
}

func replaySentence(t results.Target) string {
	e := t.Evidence.Replay
	s := fmt.Sprintf("%s replayed, %d of them requests that were answered: %s",
		results.FormatCount(e.Replayed, "message"), e.Answered, FailureText(t))
	switch {
	case e.FailedAtMessage > 0:
		return s + fmt.Sprintf(" at message %d (%s)", e.FailedAtMessage, Escape(t.Evidence.Why))
	case len(t.Samples) == 0:
		return s
	case t.Verdict == string(results.CannotTell):
		s += fmt.Sprintf(" %d of %d answers", e.Undecided, e.Compared)
	}
	s += ", in " + results.FormatDuration(float64(t.Samples[0].ElapsedNS))
	return strings.Join(append([]string{s}, quantileTexts(latencyOf(t), "the longest")...), ", ")
}

// targetAdvice says once for each verdict what it means.
func targetAdvice(targets []results.Target) []string {
	var out []string
	said := make(map[string]bool)
	for _, t := range targets {
		if t.Evidence.Advice == "" || said[t.Verdict] {
			continue
		}
		said[t.Verdict] = true
		s := FailureText(t) + ": " + t.Evidence.Advice
		if e := t.Evidence.Failure; e != nil && len(e.StderrTail) > 0 {
			s += fmt.Sprintf(" (its last words: %s)", e.StderrTail[len(e.StderrTail)-1])
		}
		out = append(out, s)
	}
	return out
}

// targetNotes are the warnings of the records.
func targetNotes(targets []results.Target) []string {
	var all []warned
	for _, t := range targets {
		for _, text := range t.Warnings {
			all = append(all, warned{text: text})
		}
	}
	return warningNotes(all, results.FormatCount(len(targets), "measurement"))
}

// A DriveResult sums up what was found out about a server.
type DriveResult struct {
	Passed bool `json:"passed"`

	// Limit is the bytes of the largest message that works, on the side that breaks first. Failure
	// is the verdict on larger messages.
	Limit   int64  `json:"limit,omitempty"`
	Failure string `json:"failure,omitempty"`

	text string // the result in a line
	tone Tone
}

// resultOf sums up what was found. A server that refuses large messages with an error passes; a
// server that is silent, or answers wrongly, does not.
func resultOf(targets []results.Target) DriveResult {
	var served int64
	var failed *results.Target  // the first size that fails
	var limited *results.Target // the limit of the side that breaks first
	growth := ""
	var notTried []string
	for i := range targets {
		t := &targets[i]
		switch {
		case t.Evidence.Replay != nil:
			return replayResult(*t)
		case t.Verdict == results.VerdictNotTried:
			notTried = append(notTried, results.FormatSize(t.Size))
		case t.RequestLimit != nil || t.ReplyLimit != nil:
			if limited == nil || limitOf(*t) < limitOf(*limited) {
				limited = t
			}
		case t.SearchedTo != nil:
			served = max(served, *t.SearchedTo)
		case t.Size > 0 && t.Served():
			served = max(served, t.Size)
		case t.Size > 0 && failed == nil:
			failed = t
		case t.Verdict == results.VerdictSuperlinear:
			growth = ", " + t.Verdict
		}
	}
	r := DriveResult{Limit: served}
	switch {
	case len(notTried) > 0:
		r.Failure = results.VerdictNotTried
		r.tone = Mixed
		r.text = "INCOMPLETE: the time was over before " + strings.Join(notTried, ", ")
		if served > 0 {
			r.text += "; works to " + results.FormatSize(int64(served))
		}
	case failed != nil && failsAnyway(*failed):
		r.Failure = failed.Verdict
		r.tone = Bad
		r.text = fmt.Sprintf("fails after %s, of whatever size: %s",
			results.FormatCount(int(failed.Evidence.Failure.ServedBefore), "request"),
			FailureText(*failed))
	case limited != nil:
		r.Limit = limitOf(*limited)
		r.judge(limited, breakingText(*limited), growth)
	case failed != nil:
		r.judge(failed, failingText(*failed, served), growth)
	default:
		r.judge(&results.Target{}, "", growth)
	}
	return r
}

// failsAnyway reports whether a server failed after some requests for a reason other than their
// size: it fails over small ones, too.
func failsAnyway(t results.Target) bool {
	f := t.Evidence.Failure
	return f != nil && f.AnySize && f.ServedBefore > 0
}

// judge decides whether a server passes, from the limit to which it works and how it fails beyond
// that, and writes the result in a line.
func (r *DriveResult) judge(failed *results.Target, breaks, growth string) {
	r.Failure = failed.Verdict
	r.Passed = r.Limit > 0 && (r.Failure == "" || r.Failure == results.VerdictErrorReply)
	r.tone = Good
	works := "works to " + results.FormatSize(int64(r.Limit))
	switch {
	case r.Passed && r.Failure != "":
		r.text = works + ", then " + FailureText(*failed) + growth
	case r.Passed:
		r.text = works + growth
	case r.Limit == 0:
		r.tone = Bad
		r.text = "FAIL at every size: " + FailureText(*failed)
	default:
		r.tone = Bad
		r.text = breaks + FailureText(*failed)
	}
}

// limitOf is the limit that a record is about.
func limitOf(t results.Target) int64 {
	if t.RequestLimit != nil {
		return *t.RequestLimit
	}
	return *t.ReplyLimit
}

// breakingText says where a server breaks: a byte above the limit, if the exact byte was found.
func breakingText(t results.Target) string {
	at := limitOf(t) + 1
	e := t.Evidence.Limit
	switch {
	case e != nil && e.Flaky:
		return "breaks near " + stat.FormatBytes(at) + ", but not every time: "
	case e != nil && e.Side == "request" && int64(e.FailedAt) > at:
		return betweenText(at, int64(e.FailedAt)) + ": "
	case e != nil && e.CutShort:
		return "breaks above " + stat.FormatBytes(limitOf(t)) + ": "
	}
	return "breaks at " + stat.FormatBytes(at) + ": "
}

// betweenText says where a server breaks if there was no time to find the exact byte.
func betweenText(from, to int64) string {
	return "breaks between " + results.FormatGrouped(from) + " and " + stat.FormatBytes(to)
}

// failingText says where a server failed whose limit is not known: messages of up to so many bytes
// were served.
func failingText(t results.Target, served int64) string {
	text := "fails at " + stat.FormatBytes(t.Size)
	if served < t.Size {
		text = betweenText(served+1, t.Size)
	}
	if f := t.Evidence.Failure; f != nil && f.ServedBefore > 0 {
		text += ", after " + results.FormatCount(int(f.ServedBefore), "request")
	}
	return text + ": "
}

// replayResult sums up the replay of a whole recording.
func replayResult(t results.Target) DriveResult {
	replayed := results.FormatCount(t.Evidence.Replay.Replayed, "message") + " replayed"
	switch {
	case t.Served():
		return DriveResult{Passed: true, text: "PASS: " + replayed, tone: Good}
	case t.Verdict == string(results.CannotTell):
		text := "INCOMPLETE: " + replayed + "; " + FailureText(t)
		return DriveResult{Failure: t.Verdict, text: text, tone: Mixed}
	}
	text := "FAIL: " + replayed + "; " + FailureText(t)
	return DriveResult{Failure: t.Verdict, text: text, tone: Bad}
}
