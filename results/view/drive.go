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

// WriteDrive writes what records say about the servers that were driven, for people: a table by
// size, one by load, one by fault, then the limits, the growth, and advice. Only the formats table,
// markdown and, of sizes and loads, csv have a view of their own; else the records are shown as
// they are.
func WriteDrive(w io.Writer, format Format, set *results.Set) error {
	if len(set.Targets) == 0 && len(set.Faults) == 0 {
		return ErrNothing
	}
	tables := []Table{sizeTable(set.Targets), loadTable(set.Targets)}
	switch format {
	case FormatTable, FormatMarkdown:
	case FormatCSV:
		for _, t := range tables {
			if len(t.Rows) > 0 {
				return t.Write(w, format)
			}
		}
		fallthrough
	default:
		return Write(w, set, format, Options{})
	}
	headline, err := driveHeadline(set)
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintln(&text, headline)
	for _, t := range append(tables, clientFaultTable(set.Faults)) {
		if len(t.Rows) == 0 {
			continue
		}
		fmt.Fprintln(&text)
		if err := t.Write(&text, format); err != nil {
			return err
		}
	}
	for _, list := range [][]string{targetSentences(set.Targets), targetAdvice(set.Targets), targetNotes(set.Targets)} {
		if len(list) > 0 {
			fmt.Fprintln(&text)
		}
		if format == FormatTable {
			list = Wrap(list)
		}
		for _, s := range list {
			fmt.Fprintln(&text, s)
		}
	}
	_, err = io.WriteString(w, text.String())
	return err
}

// driveHeadline says what was driven, and how.
func driveHeadline(set *results.Set) (string, error) {
	if len(set.Targets) == 0 {
		var e struct {
			Command  []string `json:"command"`
			Protocol string   `json:"protocol"`
		}
		err := set.Faults[0].Evidence.Decode(&e)
		return strings.Join(e.Command, " ") + ": " + e.Protocol, err
	}
	t := set.Targets[0]
	e := t.Evidence.ServerEvidence
	if e == nil {
		e = new(results.ServerEvidence)
	}
	return fmt.Sprintf("%s: %s, %s framing, %s", strings.Join(t.Command, " "), e.Spoken, e.Framing, e.Request), nil
}

// percentileCell is of all samples together, if they carry it; of an open loop, from when requests
// were due.
func percentileCell(samples []results.Sample, of func(results.Latency) *int64) Cell {
	var all []results.Latency
	for _, s := range samples {
		for _, name := range []string{"roundtrip", "due"} {
			if l, ok := s.Latency[name]; ok {
				all = append(all, l)
			}
		}
	}
	if len(all) == 0 {
		return Cell{}
	}
	l, err := results.MergeLatencies(all)
	if err != nil || of(l) == nil {
		return Cell{}
	}
	return figureCell(float64(*of(l)), results.FormatDuration(float64(*of(l))))
}

func p50(l results.Latency) *int64     { return l.P50NS }
func p99(l results.Latency) *int64     { return l.P99NS }
func longest(l results.Latency) *int64 { return &l.MaxNS }

// sizeTable has a row a size.
func sizeTable(targets []results.Target) Table {
	t := Table{Columns: Columns(">message|message (B)", "!verdict", ">time|time (ns)", ">p99|p99 (ns)",
		">ns/B|time (ns/B)", ">MB/s both ways|both ways (B/s)", ">reply|reply (B)", ">server memory|server memory (B)", ">driver's CPU|driver's CPU (%)", ">n", "@~evidence")}
	for _, g := range targets {
		if g.Size == 0 || g.Evidence.LoadEvidence != nil {
			continue
		}
		row := make([]Cell, len(t.Columns))
		row[0], row[1], row[7] = bytesCell(g.Size), textCell(g.Verdict), memoryCell(g)
		if ns := stat.MedianTime(g.Samples); ns > 0 && g.Served() {
			row[2], row[3] = figureCell(ns, results.FormatDuration(ns)), percentileCell(g.Samples, p99)
			each := ns / float64(g.Size)
			row[4] = figureCell(each, fmt.Sprintf("%.3g", each))
			if e := g.Evidence.SizeEvidence; e != nil {
				rate := float64(g.Size+int64(e.ReplyBytes)) / ns * 1e9
				row[5], row[6] = figureCell(rate, fmt.Sprintf("%.3g", rate/1e6)), bytesCell(int64(e.ReplyBytes))
			}
			row[8] = shareCell(g)
			var trips int64
			for _, s := range g.Samples {
				trips += s.Messages
			}
			row[9] = textCell(strconv.FormatInt(trips, 10))
		}
		row[10] = textCell(EvidenceText(g.Evidence))
		t.AppendCells(row...)
	}
	return t
}

// shareCell is the driver's share of the CPU time that both sides used.
func shareCell(t results.Target) Cell {
	if e := t.Evidence.SizeEvidence; e != nil && e.DriverCPUShare != nil {
		return figureCell(100**e.DriverCPUShare, results.FormatPercent(100**e.DriverCPUShare))
	}
	return Cell{}
}

// memoryCell is the server's largest resident memory.
func memoryCell(t results.Target) Cell {
	var peak int64
	if e := t.Evidence.FailureEvidence; e != nil && e.PeakBytes != nil {
		peak = *e.PeakBytes
	}
	for _, s := range t.Samples {
		if p := s.Reader.PeakBytes; p != nil {
			peak = max(peak, *p)
		}
	}
	if peak == 0 {
		return Cell{}
	}
	return Cell{fmt.Sprintf("%.3g MiB", float64(peak)/(1<<20)), strconv.FormatInt(peak, 10)}
}

// loadTable has a row a load.
func loadTable(targets []results.Target) Table {
	t := Table{Columns: Columns(">message|message (B)", ">in flight", ">rate asked|rate asked (/s)", "!verdict", ">requests/s|requests (/s)",
		">p50|p50 (ns)", ">p99|p99 (ns)", ">out of order", ">driver's CPU|driver's CPU (%)")}
	for _, g := range targets {
		e := g.Evidence.LoadEvidence
		if e == nil {
			continue
		}
		row := make([]Cell, len(t.Columns))
		row[0], row[1], row[3] = bytesCell(g.Size), textCell(strconv.Itoa(e.Inflight)), textCell(g.Verdict)
		if e.Rate > 0 {
			row[2] = textCell(fmt.Sprint(e.Rate))
		}
		if ns := stat.MedianTime(g.Samples); ns > 0 {
			row[4] = figureCell(1e9/ns, results.FormatGrouped(int64(1e9/ns)))
			row[5], row[6] = percentileCell(g.Samples, p50), percentileCell(g.Samples, p99)
		}
		row[7], row[8] = textCell(strconv.FormatInt(e.OutOfOrder, 10)), shareCell(g)
		t.AppendCells(row...)
	}
	return t
}

func clientFaultTable(faults []results.Fault) Table {
	t := Table{Columns: Columns("fault", "verdict", "what came of it")}
	for _, f := range faults {
		t.Append(f.ID, f.Verdict, f.Advice)
	}
	return t
}

// TargetLine writes a record in a line, for the progress of a run.
func TargetLine(t results.Target) string {
	if s := targetSentence(t); s != "" {
		return s
	}
	s := results.FormatSize(t.Size) + ": " + t.Verdict
	if ns := stat.MedianTime(t.Samples); ns > 0 && t.Served() {
		s += ", " + results.FormatDuration(ns)
	}
	if t.Evidence.Why != "" {
		s += ", " + t.Evidence.Why
	}
	return s
}

// targetSentences are the limits, the growth and the replays.
func targetSentences(targets []results.Target) []string {
	var out []string
	for _, t := range targets {
		if s := targetSentence(t); s != "" {
			out = append(out, s)
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
		side := "message"
		if e := t.Evidence.LimitEvidence; e != nil {
			side = e.Side
		}
		return fmt.Sprintf("no limit on a %s up to %s", side, stat.FormatBytes(*t.SearchedTo))
	case t.Evidence.ReplayEvidence != nil:
		return replaySentence(t)
	}
	if g, ok := stat.RecordedGrowth(t); ok {
		return g.String()
	}
	return ""
}

func limitSentence(what string, n int64, t results.Target) string {
	if n == 0 {
		return fmt.Sprintf("%s of no size work: %s", what, t.Verdict)
	}
	s := fmt.Sprintf("%s up to %s work", what, stat.FormatBytes(n))
	if e := t.Evidence.SizeEvidence; e != nil {
		s += fmt.Sprintf(" (payload %s)", stat.FormatBytes(int64(e.PayloadBytes)))
	}
	s += "; one byte more: " + t.Verdict
	if e := t.Evidence.LimitEvidence; e != nil && e.AtTwice != "" && e.AtTwice != t.Verdict {
		s += "; twice the limit: " + e.AtTwice
	}
	return s
}

func replaySentence(t results.Target) string {
	e := t.Evidence.ReplayEvidence
	s := fmt.Sprintf("%d messages replayed, %d of them requests that were answered: %s", e.Replayed, e.Answered, t.Verdict)
	if e.FailedAtMessage > 0 {
		return s + fmt.Sprintf(" at message %d (%s)", e.FailedAtMessage, t.Evidence.Why)
	}
	if len(t.Samples) == 0 {
		return s
	}
	s += ", in " + results.FormatDuration(float64(t.Samples[0].ElapsedNS))
	for _, p := range []struct {
		name string
		of   func(results.Latency) *int64
	}{{"p50", p50}, {"p99", p99}, {"the longest", longest}} {
		if took := percentileCell(t.Samples, p.of).Text; took != "" { // so few do not carry it
			s += ", " + p.name + " " + took
		}
	}
	return s
}

// targetAdvice says once for each verdict what it means.
func targetAdvice(targets []results.Target) []string {
	var out, seen []string
	for _, t := range targets {
		if t.Evidence.Advice == "" || slices.Contains(seen, t.Verdict) {
			continue
		}
		seen = append(seen, t.Verdict)
		s := t.Verdict + ": " + t.Evidence.Advice
		if e := t.Evidence.FailureEvidence; e != nil && len(e.StderrTail) > 0 {
			s += fmt.Sprintf(" (its last words: %s)", e.StderrTail[len(e.StderrTail)-1])
		}
		out = append(out, s)
	}
	return out
}

// targetNotes are the warnings of the records, the last of those that differ in their figures
// alone.
func targetNotes(targets []results.Target) []string {
	var kinds []string
	last := map[string]string{}
	for _, t := range targets {
		for _, w := range t.Warnings {
			kind := strings.Map(func(r rune) rune {
				if r >= '0' && r <= '9' {
					return -1
				}
				return r
			}, w)
			if last[kind] == "" {
				kinds = append(kinds, kind)
			}
			last[kind] = "note: " + w
		}
	}
	out := make([]string, len(kinds))
	for i, kind := range kinds {
		out[i] = last[kind]
	}
	return out
}

// Badge writes a line of markdown for a server's README: an image that says what was found, by the
// shields.io service, with the same in words.
func Badge(set *results.Set) string {
	message, color := driveSummary(set.Targets)
	if len(set.Targets) == 0 {
		message, color = faultSummary(set.Faults)
	}
	escaped := strings.NewReplacer("-", "--", "_", "__").Replace(message)
	return fmt.Sprintf("![stdio: %s](https://img.shields.io/badge/stdio-%s-%s)", message, url.PathEscape(escaped), color)
}

// Colours of a badge.
const (
	good    = "brightgreen"
	caution = "yellow"
	broken  = "red"
)

// modest is the least that a server should serve, in bytes: large tool results have that.
const modest = 4 << 20

// driveSummary returns the finding in a few words, and the colour it deserves: green for a server
// that served all, or refuses in words; yellow for one that serves less than is modest, or whose
// time grows too fast; red for silence and corruption.
func driveSummary(targets []results.Target) (message, color string) {
	var served, limit int64
	limited := false
	var above, fast string
	for _, t := range targets {
		if e := t.Evidence.ReplayEvidence; e != nil {
			color = good
			if !t.Served() {
				color = broken
			}
			return fmt.Sprintf("%d messages replayed: %s", e.Replayed, t.Verdict), color
		}
		switch found := cmp.Or(t.RequestLimit, t.ReplyLimit); {
		case found != nil && (!limited || *found < limit):
			limit, above, limited = *found, t.Verdict, true
		case found != nil: // the other side breaks sooner
		case t.SearchedTo != nil:
			served = max(served, *t.SearchedTo)
		case t.Size > 0 && t.Served():
			served = max(served, t.Size)
		case t.Size > 0 && above == "":
			above = t.Verdict
		case t.Verdict == results.VerdictSuperlinear:
			fast = ", " + t.Verdict
		}
	}
	if !limited {
		limit = served
	}
	if limit == 0 {
		return "works at no size: " + above, broken
	}
	size := results.FormatSize(limit)
	if strings.HasSuffix(size, " B") {
		size = stat.FormatBytes(limit)
	}
	message, color = "ok to "+size, good
	if above != "" {
		message += ", then " + above
		if above != results.VerdictErrorReply {
			color = broken
		}
	}
	if color == good && (fast != "" || limit < modest) {
		color = caution
	}
	return message + fast, color
}

// faultSummary says how many of the faults of clients the server withstood: green where it did all.
func faultSummary(faults []results.Fault) (message, color string) {
	stood := len(stat.Filter(faults, func(f results.Fault) bool { return f.Verdict == results.VerdictOK }))
	color = caution
	if stood == len(faults) {
		color = good
	}
	return fmt.Sprintf("stands %d of %d faults of clients", stood, len(faults)), color
}
