package view

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// WriteDrive writes what records say about the servers that were driven. For people that is whether
// the server passed, a table by size, one by load, then the limits, the growth, and advice; as CSV the first of these tables; as JSON the records below the [DriveResult].
func WriteDrive(w io.Writer, format Format, set *results.Set, o Options) error {
	if len(set.Targets) == 0 {
		return ErrNothing
	}
	var tables []Table
	for _, t := range []Table{sizeTable(set.Targets), loadTable(set.Targets)} {
		if t.hasRows() {
			tables = append(tables, t)
		}
	}
	result := resultOf(set.Targets)
	switch format {
	case FormatJSON:
		return WriteJSON(w, struct {
			DriveResult
			setJSON
		}{result, newSetJSON(set)})
	case FormatCSV:
		if len(tables) > 0 {
			return tables[0].Write(w, format, o)
		}
		return Write(w, set, format, o)
	case FormatBench:
		return Write(w, set, format, o)
	}
	p := Page{Verdict: result.String(), Tone: result.tone(), Header: []string{drivenBy(set)}}
	for _, t := range tables {
		p.Tables = append(p.Tables, t.dropEmpty())
	}
	p.Conclusions = append(targetSentences(set.Targets), targetAdvice(set.Targets)...)
	p.Notes = targetNotes(set.Targets)
	return p.Write(w, format, o)
}

// drivenBy says what was driven, and how. A server's framing may be found out on the way.
func drivenBy(set *results.Set) string {
	t := set.Targets[len(set.Targets)-1]
	command := strings.Join(t.Command, " ")
	e := t.Evidence.Server
	if e == nil {
		return command
	}
	return fmt.Sprintf("%s: %s, %s framing, %s", command, e.Spoken, e.Framing, e.Request)
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
	for _, q := range []struct{ name, shown string }{{"p50", "p50"}, {"p99", "p99"}, {"max", longestName}} {
		if text := quantileValue(l, q.name).Text; text != "" {
			out = append(out, q.shown+" "+text)
		}
	}
	return out
}

// latencyOf is that of all samples of a target together; of an open loop, from when requests were
// due.
func latencyOf(t results.Target) results.Latency {
	l, err := results.MergeLatencies(t.Samples, "roundtrip", "due")
	if err != nil { // one that is damaged shows nothing
		return results.Latency{}
	}
	return l
}

// sizeTable has a row a size. Times are those of sizes that were answered.
func sizeTable(targets []results.Target) Table {
	t := Table{Columns: []Column{
		{Title: "message", Data: "message (B)", Right: true, Key: true},
		{Title: "verdict", Style: Verdict, Key: true},
		{Title: "time", Data: "time (ns)", Right: true, Detail: true},
		{Title: "p50", Data: "p50 (ns)", Right: true},
		{Title: "p99", Data: "p99 (ns)", Right: true},
		{Title: "ns/B", Data: "time (ns/B)", Right: true},
		{Title: "MB/s both ways", Data: "both ways (B/s)", Right: true},
		{Title: "reply", Data: "reply (B)", Right: true, Detail: true},
		{Title: "server memory", Data: "server memory (B)", Right: true},
		{Title: "driver's CPU", Data: "driver's CPU (%)", Right: true, Detail: true},
		{Title: "n", Right: true},
	}}
	for _, target := range targets {
		if target.Size == 0 || target.Evidence.Load != nil {
			continue
		}
		row := []Value{bytesValue(target.Size), verdictValue(target.Verdict)}
		row = append(row, sizeFigures(target)...)
		t.AppendValues(row...)
	}
	return t
}

// sizeFigures are the columns of sizeTable from the time to n.
func sizeFigures(t results.Target) []Value {
	memory := memoryValue(t)
	ns := stat.MedianTime(t.Samples)
	if ns <= 0 || !t.Served() {
		return []Value{{}, {}, {}, {}, {}, {}, memory, {}, {}}
	}
	l := latencyOf(t)
	p50 := quantileValue(l, "p50")
	if p50.Text == "" {
		p50 = Value{Text: "~" + results.FormatDuration(ns)} // so few have a mean alone
	}
	reply := int64(0)
	if e := t.Evidence.Size; e != nil {
		reply = int64(e.ReplyBytes)
	}
	var trips int64
	for _, s := range t.Samples {
		trips += s.Messages
	}
	perByte := ns / float64(t.Size)
	rate := float64(t.Size+reply) / ns * 1e9
	return []Value{
		nanosValue(ns),
		p50,
		quantileValue(l, "p99"),
		figureValue(perByte, results.FormatNumber(perByte, 3)),
		figureValue(rate, results.FormatNumber(rate/1e6, 3)),
		bytesValue(reply),
		memory,
		shareValue(t),
		countValue(trips),
	}
}

// shareValue shows the driver's share of the CPU time that both sides used.
func shareValue(t results.Target) Value {
	e := t.Evidence.Size
	if e == nil || e.DriverCPUShare == nil {
		return Value{}
	}
	percent := 100 * *e.DriverCPUShare
	return figureValue(percent, results.FormatPercent(percent))
}

// memoryValue shows the server's largest resident memory.
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
	text := results.FormatNumber(float64(peak)/(1<<20), 3) + " MiB"
	return Value{Text: text, Base: strconv.FormatInt(peak, 10)}
}

// loadTable has a row a load.
func loadTable(targets []results.Target) Table {
	t := Table{Columns: []Column{
		{Title: "message", Data: "message (B)", Right: true, Key: true},
		{Title: "in flight", Right: true, Key: true},
		{Title: "rate asked", Data: "rate asked (/s)", Right: true},
		{Title: "verdict", Style: Verdict, Key: true},
		{Title: "requests/s", Data: "requests (/s)", Right: true},
		{Title: "p50", Data: "p50 (ns)", Right: true},
		{Title: "p99", Data: "p99 (ns)", Right: true},
		{Title: "out of order", Right: true},
		{Title: "driver's CPU", Data: "driver's CPU (%)", Right: true},
	}}
	for _, target := range targets {
		e := target.Evidence.Load
		if e == nil {
			continue
		}
		var asked, rate Value
		if e.Rate > 0 {
			asked = figureValue(e.Rate, results.FormatNumber(e.Rate, 3))
		}
		if ns := stat.MedianTime(target.Samples); ns > 0 {
			rate = figureValue(1e9/ns, results.FormatGrouped(int64(1e9/ns)))
		}
		l := latencyOf(target)
		t.AppendValues(
			bytesValue(target.Size),
			countValue(int64(e.Inflight)),
			asked,
			verdictValue(target.Verdict),
			rate,
			quantileValue(l, "p50"),
			quantileValue(l, "p99"),
			countValue(e.OutOfOrder),
			shareValue(target),
		)
	}
	return t
}

// targetTable has a row for each record about a server.
func targetTable(s *results.Set) Table {
	t := Table{Title: "What the servers did", Columns: []Column{
		{Title: "command", Style: Code, Key: true},
		{Title: "machine"},
		{Title: "protocol"},
		{Title: "message", Data: "message (B)", Right: true, Key: true},
		{Title: "verdict", Style: Verdict, Key: true},
		{Title: "request limit", Data: "request limit (B)", Right: true},
		{Title: "reply limit", Data: "reply limit (B)", Right: true},
		{Title: "searched to", Data: "searched to (B)", Right: true},
		{Title: "time/msg", Data: "time/msg (ns)", Right: true},
		{Title: "warnings", Style: Warning},
	}}
	for _, target := range s.Targets {
		var size Value
		if target.Size > 0 {
			size = bytesValue(target.Size)
		}
		verdict := verdictValue(target.Verdict)
		if target.Size == 0 && target.RequestLimit == nil && target.ReplyLimit == nil {
			// how a recorded server ended, which may be as it should
			verdict = textValue(target.Verdict)
		}
		t.AppendValues(
			textValue(strings.Join(target.Command, " ")),
			machineValue(s, s.Machine(target.Run)),
			textValue(target.Protocol),
			size,
			verdict,
			limitValue(target.RequestLimit),
			limitValue(target.ReplyLimit),
			limitValue(target.SearchedTo),
			estimateValue("time", target.Samples),
			textValue(strings.Join(target.Warnings, "; ")),
		)
	}
	return t
}

func limitValue(n *int64) Value {
	if n == nil {
		return Value{}
	}
	return bytesValue(*n)
}

// estimateValue shows the median of a metric with its spread.
func estimateValue(metric string, samples []results.Sample) Value {
	e := stat.EstimateOf(metric, samples)
	if e.N == 0 {
		return Value{}
	}
	return figureValue(e.Median, withSpread(stat.MustMetric(metric).Format(e.Median), e))
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
	parts := []string{results.FormatSize(t.Size) + ": " + failureText(t), took, t.Evidence.Why}
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

// targetSentence says what a record is about that is not about one size; "" for one that is.
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
		return fmt.Sprintf("no limit on a %s up to %s%s", side, stat.FormatBytes(*t.SearchedTo), until)
	case t.Evidence.Replay != nil:
		return replaySentence(t)
	}
	if g, ok := stat.RecordedGrowth(t); ok {
		return g.String()
	}
	return ""
}

// failureText returns a target's verdict in words. What wrote errors before it ended did not do so
// silently.
func failureText(t results.Target) string {
	return EndText(t.Verdict, wroteErrors(t))
}

// wroteErrors reports whether a target that failed wrote to its standard error.
func wroteErrors(t results.Target) bool {
	e := t.Evidence.Failure
	return e != nil && (e.StderrBytes > 0 || len(e.StderrTail) > 0)
}

func limitSentence(what string, n int64, t results.Target) string {
	if n == 0 {
		return fmt.Sprintf("%s of no size work: %s", what, failureText(t))
	}
	s := fmt.Sprintf("%s up to %s work", what, stat.FormatBytes(n))
	if e := t.Evidence.Size; e != nil {
		s += fmt.Sprintf(" (payload %s)", stat.FormatBytes(int64(e.PayloadBytes)))
	}
	above := "one byte more"
	atTwice, often := "", ""
	if e := t.Evidence.Limit; e != nil {
		if e.Side == "request" && int64(e.FailedAt) > n+1 { // the time was too short for the exact byte
			above = stat.FormatBytes(int64(e.FailedAt))
		}
		if e.AtTwice != t.Verdict {
			atTwice = e.AtTwice
		}
		if e.Flaky {
			often = ", but not every time"
		}
	}
	s += "; " + above + ": " + failureText(t) + often
	if atTwice != "" {
		s += "; twice the limit: " + VerdictText(atTwice)
	}
	return s
}

func replaySentence(t results.Target) string {
	e := t.Evidence.Replay
	s := fmt.Sprintf("%s replayed, %d of them requests that were answered: %s",
		results.FormatCount(e.Replayed, "message"), e.Answered, failureText(t))
	switch {
	case e.FailedAtMessage > 0:
		return s + fmt.Sprintf(" at message %d (%s)", e.FailedAtMessage, t.Evidence.Why)
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
		s := failureText(t) + ": " + t.Evidence.Advice
		if e := t.Evidence.Failure; e != nil && len(e.StderrTail) > 0 {
			s += fmt.Sprintf(" (its last words: %s)", e.StderrTail[len(e.StderrTail)-1])
		}
		out = append(out, s)
	}
	return out
}

// targetNotes are the warnings of the records, the last of those that differ in their figures
// alone.
func targetNotes(targets []results.Target) []string {
	var order []string // of the warnings without their figures
	last := make(map[string]string)
	for _, t := range targets {
		for _, warning := range t.Warnings {
			kind := withoutDigits(warning)
			if last[kind] == "" {
				order = append(order, kind)
			}
			last[kind] = warning
		}
	}
	var out []string
	for _, kind := range order {
		out = append(out, "note: "+last[kind])
	}
	return out
}

func withoutDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
}

// A DriveResult is what was found about a server, in short.
type DriveResult struct {
	wrote bool // what failed wrote to its standard error

	Passed  bool   `json:"passed"`
	Limit   int64  `json:"limit,omitempty"`   // bytes of the largest message that works, on the side that breaks first
	Failure string `json:"failure,omitempty"` // the verdict on what lies beyond it

	failedAt int64  // bytes of the smallest message that fails, 0 if that is not known
	whole    string // of what has no size, what was done
	growth   string // the verdict on the growth of time, where it is too fast
	flaky    bool   // the failure depends on more than the size

	incomplete bool // nothing is wrong as far as it can be told
}

// tone is that of the line.
func (r DriveResult) tone() Tone {
	switch {
	case r.incomplete:
		return Mixed
	case r.Passed:
		return Good
	}
	return Bad
}

// resultOf sums up what was found. A server that refuses large messages with an error passes; one
// that is silent, or answers wrongly, does not.
func resultOf(targets []results.Target) DriveResult {
	var r DriveResult
	served := int64(0)
	limited := false
	for _, t := range targets {
		if e := t.Evidence.Replay; e != nil {
			r.Passed = t.Served()
			r.whole = results.FormatCount(e.Replayed, "message") + " replayed"
			r.incomplete = t.Verdict == string(results.CannotTell)
			if !r.Passed {
				r.Failure, r.wrote = t.Verdict, wroteErrors(t)
			}
			return r
		}
		limit := t.RequestLimit
		if limit == nil {
			limit = t.ReplyLimit
		}
		switch {
		case limit != nil:
			if limited && *limit >= r.Limit {
				continue // the other side breaks sooner
			}
			limited = true
			r.Limit = *limit
			r.Failure, r.wrote = t.Verdict, wroteErrors(t)
			r.failedAt = *limit + 1
			r.flaky = false
			if e := t.Evidence.Limit; e != nil {
				r.flaky = e.Flaky
				if e.Side == "request" {
					r.failedAt = max(r.failedAt, int64(e.FailedAt)) // where the exact byte was not found
				}
			}
		case t.SearchedTo != nil:
			served = max(served, *t.SearchedTo)
		case t.Size > 0 && t.Served():
			served = max(served, t.Size)
		case t.Size > 0 && r.Failure == "":
			r.Failure, r.wrote = t.Verdict, wroteErrors(t)
			r.failedAt = t.Size
		case t.Verdict == results.VerdictSuperlinear:
			r.growth = ", " + t.Verdict
		}
	}
	if !limited {
		r.Limit = served
	}
	r.Passed = r.Limit > 0 && (r.Failure == "" || r.Failure == results.VerdictErrorReply)
	return r
}

// String returns the result in a line: "works to 64 MiB", "breaks at 10,485,760 B: no reply,
// process alive". PASS and FAIL are for what was to be done as a whole: a limit that was looked for
// and found is an answer.
func (r DriveResult) String() string {
	failure := EndText(r.Failure, r.wrote)
	limit := results.FormatSize(r.Limit)
	if strings.HasSuffix(limit, " B") { // not a whole number of a binary unit
		limit = stat.FormatBytes(r.Limit)
	}
	switch {
	case r.whole != "":
		s := "FAIL: " + r.whole
		if r.Passed {
			s = "PASS: " + r.whole
		}
		if r.incomplete {
			s = "INCOMPLETE: " + r.whole
		}
		if failure != "" {
			s += "; " + failure
		}
		return s
	case !r.Passed && r.Limit == 0:
		return "FAIL at every size: " + failure
	case !r.Passed && r.flaky:
		return "breaks near " + stat.FormatBytes(r.failedAt) + ", but not every time: " + failure
	case !r.Passed:
		return "breaks at " + stat.FormatBytes(r.failedAt) + ": " + failure
	case r.Failure != "":
		return "works to " + limit + ", then " + failure + r.growth
	}
	return "works to " + limit + r.growth
}
