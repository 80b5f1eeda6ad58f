package view

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// WriteDrive writes what records say about the servers that were driven. For people that is whether
// the server passed, a table by size, one by load, one by fault, then the limits, the growth, and
// advice; as CSV the first of these tables; as JSON the records below the [DriveResult].
func WriteDrive(w io.Writer, format Format, set *results.Set, o Options) error {
	if len(set.Targets) == 0 && len(set.Faults) == 0 {
		return ErrNothing
	}
	p := Page{
		Conclusions: slices.Concat(targetSentences(set.Targets), targetAdvice(set.Targets)),
		Notes:       targetNotes(set.Targets),
	}
	clientFaults := tableOf("", set.Faults, []columnOf[results.Fault]{
		{"fault", func(f results.Fault) Cell { return textCell(f.ID) }},
		{"verdict", func(f results.Fault) Cell { return verdictCell(f.Verdict) }},
		{"what came of it", func(f results.Fault) Cell { return textCell(f.Advice) }},
	}...)
	readable := format == FormatTable || format == FormatMarkdown
	for _, t := range []Table{sizeTable(set.Targets), loadTable(set.Targets), clientFaults} {
		if readable {
			t = t.dropEmpty()
		}
		if len(t.Rows) > 0 && (readable || len(p.Tables) == 0) {
			p.Tables = append(p.Tables, t)
		}
	}
	result := resultOf(set)
	switch {
	case format == FormatJSON:
		return WriteJSON(w, struct {
			DriveResult
			setJSON
		}{result, setJSON{Summarise(set), set}})
	case !readable && (format != FormatCSV || len(p.Tables) == 0):
		return Write(w, set, format, o)
	}
	about, err := drivenBy(set)
	if err != nil {
		return err
	}
	p.headline(format, o, passColour(result.Passed), result.String(), about)
	return p.Write(w, format, o)
}

// drivenBy says what was driven, and how.
func drivenBy(set *results.Set) (string, error) {
	if len(set.Targets) > 0 {
		t := set.Targets[0]
		e := cmp.Or(t.Evidence.ServerEvidence, new(results.ServerEvidence))
		return fmt.Sprintf("%s: %s, %s framing, %s", strings.Join(t.Command, " "), e.Spoken, e.Framing, e.Request), nil
	}
	var e struct {
		Command  []string `json:"command"`
		Protocol string   `json:"protocol"`
	}
	err := set.Faults[0].Evidence.Decode(&e)
	return strings.Join(e.Command, " ") + ": " + e.Protocol, err
}

// quantileCell shows one of [results.Quantiles] of a latency that has it.
func quantileCell(l results.Latency, name string) Cell {
	ns := l.Quantile(name)
	return when(ns != nil, nanosCell(float64(*cmp.Or(ns, new(int64)))))
}

// quantileTexts are p50, p99 and the longest of the times that a latency has.
func quantileTexts(l results.Latency, longestName string) []string {
	var out []string
	for _, name := range []string{"p50", "p99", "max"} {
		if text := quantileCell(l, name).Text; text != "" {
			out = append(out, strings.Replace(name, "max", longestName, 1)+" "+text)
		}
	}
	return out
}

// latencyOf is that of all samples of a target together; of an open loop, from when requests were due.
func latencyOf(t results.Target) results.Latency {
	l, _ := results.MergeLatencies(t.Samples, "roundtrip", "due") // one that is damaged shows nothing
	return l
}

func percentile(name string) func(results.Target) Cell {
	return func(t results.Target) Cell { return quantileCell(latencyOf(t), name) }
}

// sizeTable has a row a size.
func sizeTable(targets []results.Target) Table {
	type target = results.Target
	sizes := stat.Filter(targets, func(t target) bool { return t.Size > 0 && t.Evidence.LoadEvidence == nil })
	// served has a figure of the sizes that were answered alone.
	served := func(cell func(t target, ns float64) Cell) func(target) Cell {
		return func(t target) Cell {
			ns := stat.MedianTime(t.Samples)
			return when(ns > 0 && t.Served(), cell(t, ns))
		}
	}
	reply := func(t target) int64 {
		return int64(cmp.Or(t.Evidence.SizeEvidence, new(results.SizeEvidence)).ReplyBytes)
	}
	return tableOf("", sizes, []columnOf[target]{
		{">message|message (B)", func(t target) Cell { return bytesCell(t.Size) }},
		{"!verdict", verdictOf},
		{"+>time|time (ns)", served(func(_ target, ns float64) Cell { return nanosCell(ns) })},
		{">p50|p50 (ns)", served(func(t target, ns float64) Cell {
			return cmp.Or(percentile("p50")(t), Cell{Text: "~" + results.FormatDuration(ns)}) // so few have a mean alone
		})},
		{">p99|p99 (ns)", served(func(t target, _ float64) Cell { return percentile("p99")(t) })},
		{"?>ns/B|time (ns/B)", served(func(t target, ns float64) Cell {
			return figureCell(ns/float64(t.Size), results.FormatNumber(ns/float64(t.Size), 3))
		})},
		{"?>MB/s both ways|both ways (B/s)", served(func(t target, ns float64) Cell {
			rate := float64(t.Size+reply(t)) / ns * 1e9
			return figureCell(rate, results.FormatNumber(rate/1e6, 3))
		})},
		{"+>reply|reply (B)", served(func(t target, _ float64) Cell { return bytesCell(reply(t)) })},
		{"?>server memory|server memory (B)", memoryCell},
		{"+>driver's CPU|driver's CPU (%)", served(func(t target, _ float64) Cell { return shareCell(t) })},
		{">n", served(func(t target, _ float64) Cell {
			var trips int64
			for _, s := range t.Samples {
				trips += s.Messages
			}
			return textCell(strconv.FormatInt(trips, 10))
		})},
		{"@~evidence", func(t target) Cell { return textCell(EvidenceText(t.Evidence)) }},
	}...)
}

func verdictOf(t results.Target) Cell { return verdictCell(t.Verdict) }

// shareCell shows the driver's share of the CPU time that both sides used.
func shareCell(t results.Target) Cell {
	share := cmp.Or(t.Evidence.SizeEvidence, new(results.SizeEvidence)).DriverCPUShare
	percent := 100 * *cmp.Or(share, new(float64))
	return when(share != nil, figureCell(percent, results.FormatPercent(percent)))
}

// memoryCell shows the server's largest resident memory.
func memoryCell(t results.Target) Cell {
	e := cmp.Or(t.Evidence.FailureEvidence, new(results.FailureEvidence))
	peak := *cmp.Or(e.PeakBytes, new(int64))
	for _, s := range t.Samples {
		peak = max(peak, *cmp.Or(s.Reader.PeakBytes, new(int64)))
	}
	return when(peak > 0, Cell{Text: results.FormatNumber(float64(peak)/(1<<20), 3) + " MiB", Base: strconv.FormatInt(peak, 10)})
}

// loadTable has a row a load.
func loadTable(targets []results.Target) Table {
	type target = results.Target
	loads := stat.Filter(targets, func(t target) bool { return t.Evidence.LoadEvidence != nil })
	return tableOf("", loads, []columnOf[target]{
		{">message|message (B)", func(t target) Cell { return bytesCell(t.Size) }},
		{">in flight", func(t target) Cell { return textCell(strconv.Itoa(t.Evidence.Inflight)) }},
		{">rate asked|rate asked (/s)", func(t target) Cell {
			return when(t.Evidence.Rate > 0, figureCell(t.Evidence.Rate, results.FormatNumber(t.Evidence.Rate, 3)))
		}},
		{"!verdict", verdictOf},
		{">requests/s|requests (/s)", func(t target) Cell {
			ns := stat.MedianTime(t.Samples)
			return when(ns > 0, figureCell(1e9/ns, results.FormatGrouped(int64(1e9/ns))))
		}},
		{">p50|p50 (ns)", percentile("p50")},
		{">p99|p99 (ns)", percentile("p99")},
		{"?>out of order", func(t target) Cell { return textCell(strconv.FormatInt(t.Evidence.OutOfOrder, 10)) }},
		{"?>driver's CPU|driver's CPU (%)", shareCell},
	}...)
}

// TargetLine writes a record in a line, for the progress of a run.
func TargetLine(t results.Target) string {
	ns := stat.MedianTime(t.Samples)
	took := when(ns > 0 && t.Served(), results.FormatDuration(ns))
	parts := []string{results.FormatSize(t.Size) + ": " + VerdictText(t.Verdict), took, t.Evidence.Why}
	return Escape(cmp.Or(targetSentence(t), strings.Join(nonEmpty(parts), ", ")))
}

// targetSentences are the limits, the growth and the replays.
func targetSentences(targets []results.Target) []string {
	return nonEmpty(stat.Map(targets, targetSentence))
}

// targetSentence says what a record is about that is not about one size; "" for one that is.
func targetSentence(t results.Target) string {
	switch {
	case t.RequestLimit != nil:
		return limitSentence("requests", *t.RequestLimit, t)
	case t.ReplyLimit != nil:
		return limitSentence("replies", *t.ReplyLimit, t)
	case t.SearchedTo != nil:
		e := cmp.Or(t.Evidence.LimitEvidence, &results.LimitEvidence{Side: "message"})
		return fmt.Sprintf("no limit on a %s up to %s", e.Side, stat.FormatBytes(*t.SearchedTo))
	case t.Evidence.ReplayEvidence != nil:
		return replaySentence(t)
	}
	g, ok := stat.RecordedGrowth(t)
	return when(ok, g.String())
}

func limitSentence(what string, n int64, t results.Target) string {
	if n == 0 {
		return fmt.Sprintf("%s of no size work: %s", what, VerdictText(t.Verdict))
	}
	s := fmt.Sprintf("%s up to %s work", what, stat.FormatBytes(n))
	if e := t.Evidence.SizeEvidence; e != nil {
		s += fmt.Sprintf(" (payload %s)", stat.FormatBytes(int64(e.PayloadBytes)))
	}
	e := cmp.Or(t.Evidence.LimitEvidence, new(results.LimitEvidence))
	above := "one byte more"
	if e.Side == "request" && int64(e.FailedAt) > n+1 { // the time was too short for the exact byte
		above = stat.FormatBytes(int64(e.FailedAt))
	}
	s += "; " + above + ": " + VerdictText(t.Verdict)
	if e.AtTwice != "" && e.AtTwice != t.Verdict {
		s += "; twice the limit: " + VerdictText(e.AtTwice)
	}
	return s
}

func replaySentence(t results.Target) string {
	e := t.Evidence.ReplayEvidence
	s := fmt.Sprintf("%s replayed, %d of them requests that were answered: %s", results.FormatCount(e.Replayed, "message"), e.Answered, VerdictText(t.Verdict))
	switch {
	case e.FailedAtMessage > 0:
		return s + fmt.Sprintf(" at message %d (%s)", e.FailedAtMessage, t.Evidence.Why)
	case len(t.Samples) == 0:
		return s
	}
	s += ", in " + results.FormatDuration(float64(t.Samples[0].ElapsedNS))
	return strings.Join(append([]string{s}, quantileTexts(latencyOf(t), "the longest")...), ", ")
}

// targetAdvice says once for each verdict what it means.
func targetAdvice(targets []results.Target) []string {
	advised := stat.Filter(targets, func(t results.Target) bool { return t.Evidence.Advice != "" })
	byVerdict := stat.GroupBy(advised, func(t results.Target) string { return t.Verdict })
	return stat.Map(byVerdict, func(alike []results.Target) string {
		s := VerdictText(alike[0].Verdict) + ": " + alike[0].Evidence.Advice
		if e := alike[0].Evidence.FailureEvidence; e != nil && len(e.StderrTail) > 0 {
			s += fmt.Sprintf(" (its last words: %s)", e.StderrTail[len(e.StderrTail)-1])
		}
		return s
	})
}

// targetNotes are the warnings of the records, the last of those that differ in their figures
// alone.
func targetNotes(targets []results.Target) []string {
	all := slices.Concat(stat.Map(targets, func(t results.Target) []string { return t.Warnings })...)
	kind := func(w string) string {
		return strings.Map(func(r rune) rune { return map[bool]rune{true: -1, false: r}[r >= '0' && r <= '9'] }, w)
	}
	return stat.Map(stat.GroupBy(all, kind), func(alike []string) string { return "note: " + alike[len(alike)-1] })
}

// A DriveResult is what was found about a server, in short.
type DriveResult struct {
	Passed  bool   `json:"passed"`
	Limit   int64  `json:"limit,omitempty"`   // bytes of the largest message that works, on the side that breaks first
	Failure string `json:"failure,omitempty"` // the verdict on what lies beyond it

	failedAt int64  // bytes of the smallest message that fails, 0 if that is not known
	whole    string // of what has no size, what was done
	growth   string // the verdict on the growth of time, where it is too fast
}

// resultOf sums up what was found. A server that refuses large messages with an error passes; one
// that is silent, or answers wrongly, does not.
func resultOf(set *results.Set) DriveResult {
	var r DriveResult
	if len(set.Targets) == 0 {
		tried := stat.Filter(set.Faults, func(f results.Fault) bool { return f.Verdict != results.VerdictNotTried })
		failed := stat.Filter(tried, func(f results.Fault) bool { return f.Verdict != results.VerdictOK })
		if len(failed) > 0 {
			r.Failure = failed[0].ID + ": " + failed[0].Verdict
		}
		r.whole = fmt.Sprintf("stands %d of %s of clients", len(tried)-len(failed), results.FormatCount(len(tried), "fault"))
		r.Passed = r.Failure == ""
		return r
	}
	served, limited := int64(0), false
	for _, t := range set.Targets {
		if e := t.Evidence.ReplayEvidence; e != nil {
			r.Passed, r.whole = t.Served(), results.FormatCount(e.Replayed, "message")+" replayed"
			r.Failure = cmp.Or(when(!r.Passed, t.Verdict), r.Failure)
			return r
		}
		switch found := cmp.Or(t.RequestLimit, t.ReplyLimit); {
		case found != nil && (!limited || *found < r.Limit):
			r.Limit, r.Failure, r.failedAt, limited = *found, t.Verdict, *found+1, true
			if e := cmp.Or(t.Evidence.LimitEvidence, new(results.LimitEvidence)); e.Side == "request" {
				r.failedAt = max(r.failedAt, int64(e.FailedAt)) // where the exact byte was not found
			}
		case found != nil: // the other side breaks sooner
		case t.SearchedTo != nil:
			served = max(served, *t.SearchedTo)
		case t.Size > 0 && t.Served():
			served = max(served, t.Size)
		case t.Size > 0 && r.Failure == "":
			r.Failure, r.failedAt = t.Verdict, t.Size
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

// String returns the result in a line: "PASS to 64 MiB", "FAIL at 10,485,760 B: no reply, process
// alive".
func (r DriveResult) String() string {
	failure, limit := VerdictText(r.Failure), results.FormatSize(r.Limit)
	if strings.HasSuffix(limit, " B") { // not a whole number of a binary unit
		limit = stat.FormatBytes(r.Limit)
	}
	switch {
	case r.whole != "":
		return map[bool]string{true: "PASS: ", false: "FAIL: "}[r.Passed] + r.whole + when(failure != "", "; "+failure)
	case !r.Passed && r.Limit == 0:
		return "FAIL at every size: " + failure
	case !r.Passed:
		return "FAIL at " + stat.FormatBytes(r.failedAt) + ": " + failure
	case r.Failure != "":
		return "PASS to " + limit + ", then " + failure + r.growth
	}
	return "PASS to " + limit + r.growth
}

// modest is the least that a server should serve, in bytes: large tool results have that.
const modest = 4 << 20

// Badge writes a line of markdown for a server's README: an image that says what was found, by the
// shields.io service, with the same in words. It is green for a server that passed; yellow for one
// that serves less than is modest, whose time grows too fast, or that does not stand a fault; red
// for silence and corruption.
func Badge(set *results.Set) string {
	r := resultOf(set)
	color := map[bool]string{true: "brightgreen", false: "red"}[r.Passed]
	switch {
	case len(set.Targets) == 0 && !r.Passed, r.whole == "" && r.Passed && (r.growth != "" || r.Limit < modest):
		color = "yellow"
	}
	message := Escape(r.String())
	escaped := strings.NewReplacer("-", "--", "_", "__").Replace(message)
	return fmt.Sprintf("![stdio: %s](https://img.shields.io/badge/stdio-%s-%s)", message, url.PathEscape(escaped), color)
}

func targetTable(s *results.Set) Table {
	type target = results.Target
	limit := func(n *int64) Cell { return when(n != nil, bytesCell(*cmp.Or(n, new(int64)))) }
	return tableOf("What the servers did", s.Targets, []columnOf[target]{
		{"`command", func(t target) Cell { return textCell(strings.Join(t.Command, " ")) }},
		{"machine", func(t target) Cell { return machineCell(s, s.Machine(t.Run)) }},
		{"protocol", func(t target) Cell { return textCell(t.Protocol) }},
		{">message|message (B)", func(t target) Cell { return when(t.Size > 0, bytesCell(t.Size)) }},
		{"!verdict", func(t target) Cell {
			if t.Size == 0 && t.RequestLimit == nil && t.ReplyLimit == nil {
				return textCell(t.Verdict) // how a recorded server ended, which may be as it should
			}
			return verdictOf(t)
		}},
		{">request limit|request limit (B)", func(t target) Cell { return limit(t.RequestLimit) }},
		{">reply limit|reply limit (B)", func(t target) Cell { return limit(t.ReplyLimit) }},
		{">searched to|searched to (B)", func(t target) Cell { return limit(t.SearchedTo) }},
		{">time/msg|time/msg (ns)", func(t target) Cell { return estimateCell("time", t.Samples) }},
		{"@~evidence", func(t target) Cell { return textCell(EvidenceText(t.Evidence)) }},
		{"_warnings", func(t target) Cell { return textCell(strings.Join(t.Warnings, "; ")) }},
	}...)
}

// estimateCell shows the median of a metric with its spread.
func estimateCell(metric string, samples []results.Sample) Cell {
	e := stat.EstimateOf(metric, samples)
	return when(e.N > 0, figureCell(e.Median, withSpread(stat.MustMetric(metric).Format(e.Median), e)))
}
