package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// findings are tables of what the set holds beside measurements, a kind each.
func findings(s *results.Set) []Table {
	all := []Table{probeTable(s), environmentTable(s), faultTable(s), claimTable(s), targetTable(s), tuneTable(s), noiseTable(s), messageTable(s)}
	var out []Table
	for _, t := range all {
		if len(t.Rows) > 0 {
			out = append(out, t.dropEmpty())
		}
	}
	return out
}

// probeTable has a row for each step, and for each machine a column with what was found.
func probeTable(s *results.Set) Table {
	t := Table{Title: "What the pipes do", Columns: Columns("pipe", "`step")}
	machines, rows := byMachine(s, s.Probes, func(p results.Probe) string { return p.Run }, func(p results.Probe) string { return p.Pipe + " " + p.Step })
	for _, id := range machines {
		t.Columns = append(t.Columns, Column{Title: cmp.Or(machineTitle(s, id), "value"), Right: true})
	}
	t.Columns = append(t.Columns, Columns("~documented", "!agrees", "+~how")...)
	for _, found := range rows {
		var first results.Probe
		var values, documented, agree, differ []string
		for _, id := range machines {
			p, ok := found[id]
			if !ok {
				values = append(values, "-")
				continue
			}
			first = p
			values = append(values, valueText(p))
			if p.Documented != "" && !slices.Contains(documented, p.Documented) {
				documented = append(documented, p.Documented)
			}
			switch {
			case p.Agrees == nil:
			case *p.Agrees:
				agree = append(agree, id)
			default:
				differ = append(differ, machineTitle(s, id))
			}
		}
		agrees := "-"
		switch {
		case len(differ) > 0:
			agrees = strings.TrimSpace("NO " + strings.Join(differ, ", "))
		case len(agree) > 0:
			agrees = "yes"
		}
		row := append([]string{orDash(first.Pipe), first.Step}, values...)
		t.Append(append(row, orDash(joinParts(documented...)), agrees, first.How)...)
	}
	return t
}

func faultTable(s *results.Set) Table {
	t := Table{Title: "How stdio fails", Columns: Columns("`fault", "machine", "!verdict", "~evidence", "~advice", "@`again")}
	for _, f := range s.Faults {
		if !f.IsEnvironment() {
			t.Append(f.ID, machineOf(s, f.Run), f.Verdict, EvidenceText(f.Evidence), orDash(f.Advice), reproduceCommand(s, f))
		}
	}
	return t
}

func environmentTable(s *results.Set) Table {
	t := Table{Title: "What disturbs measurements on this machine", Columns: Columns("`what", "machine", "~found", "+~evidence", "~remedy")}
	for _, f := range s.Faults {
		if f.IsEnvironment() {
			t.Append(strings.TrimPrefix(f.ID, results.EnvironmentFault), machineOf(s, f.Run), f.Verdict, EvidenceText(f.Evidence), orDash(f.Advice))
		}
	}
	return t
}

// claimTable has a row for each claim, and for each machine a column with its verdict. A claim that
// a machine judged more than once has a row each time.
func claimTable(s *results.Set) Table {
	t := Table{Title: "What the documents say, and whether it is so here", Columns: Columns("seed", "@`id", "~claim")}
	claims := slices.SortedStableFunc(slices.Values(s.Claims), func(a, b results.Claim) int {
		return cmp.Or(strings.Compare(a.Seed, b.Seed), strings.Compare(a.ID, b.ID))
	})
	machines, rows := byMachine(s, claims, func(c results.Claim) string { return c.Run }, func(c results.Claim) string { return c.Seed + " " + cmp.Or(c.ID, c.Claim) })
	for _, id := range machines {
		t.Columns = append(t.Columns, Column{Title: cmp.Or(machineTitle(s, id), "verdict"), Style: Verdict})
	}
	t.Columns = append(t.Columns, Columns("~figure", "~why")...)
	for _, judged := range rows {
		var first results.Claim
		var verdicts, figures, whys []string
		for _, id := range machines {
			c, ok := judged[id]
			verdicts = append(verdicts, orDash(c.Verdict))
			if !ok {
				continue
			}
			first = c
			figures, whys = append(figures, machineTitle(s, id)+": "+c.Figure), append(whys, machineTitle(s, id)+": "+c.Why)
		}
		row := append([]string{first.Seed, first.ID, first.Claim}, verdicts...)
		t.Append(append(row, orDash(onceOrEach(figures)), onceOrEach(whys))...)
	}
	return t
}

// onceOrEach returns what machines say, "MACHINE: TEXT" each: the text alone if it is the same for
// all of them.
func onceOrEach(said []string) string {
	texts := distinct(said, func(s string) string {
		_, text, _ := strings.Cut(s, ": ")
		return text
	})
	if len(texts) == 1 {
		return texts[0]
	}
	return joinParts(said...)
}

func targetTable(s *results.Set) Table {
	t := Table{Title: "What the servers did", Columns: Columns("`command", "machine", "protocol", ">message|message B", "!verdict",
		">request limit|request limit B", ">reply limit|reply limit B", ">searched to|searched to B", ">time/msg|time/msg ns", "@~evidence", "_warnings")}
	for _, g := range s.Targets {
		var each Cell
		if e := stat.MustMetric("time").Estimate(results.Record{Samples: g.Samples}); e.N > 0 {
			each = figureCell(e.Median, results.FormatDuration(e.Median)+spreadText(e))
		}
		row := []Cell{textCell(strings.Join(g.Command, " ")), textCell(machineTitle(s, s.Machine(g.Run))), textCell(g.Protocol), {}, textCell(g.Verdict)}
		if g.Size > 0 {
			row[3] = bytesCell(g.Size)
		}
		for _, n := range []*int64{g.RequestLimit, g.ReplyLimit, g.SearchedTo} {
			if n == nil {
				row = append(row, Cell{})
			} else {
				row = append(row, bytesCell(*n))
			}
		}
		t.AppendCells(append(row, each, textCell(EvidenceText(g.Evidence)), textCell(strings.Join(g.Warnings, "; ")))...)
	}
	return t
}

func noiseTable(s *results.Set) Table {
	t := Table{Title: "How far figures move between runs that nothing distinguishes", Columns: Columns("machine", "`framing", ">message|message B", "placement", "pattern", "metric", ">median", ">runs", ">spread|spread %", ">min. detectable change|min. detectable change %")}
	for _, n := range s.Noise {
		median, least := Cell{}, Cell{Text: "none"} // where a comparison of this figure alone gets no verdict
		if e := stat.Median(n.Values); e.N > 0 {
			m, err := stat.MetricByName(n.Metric)
			if err != nil {
				m = stat.Metric{} // of another version: without a unit
			}
			median = figureCell(e.Median, m.Format(e.Median))
		}
		if share, ok := stat.NoiseBound(n, stat.DefaultAlpha); ok {
			least = figureCell(100*share, results.FormatPercent(100*share))
		}
		t.AppendCells(textCell(machineTitle(s, n.Machine)), textCell(n.Cell.Framing), bytesCell(int64(n.Cell.Size)), textCell(n.Cell.Placement), textCell(n.Cell.Pattern),
			textCell(n.Metric), median, textCell(fmt.Sprint(len(n.Values))), figureCell(100*n.Spread, results.FormatPercent(100*n.Spread)), least)
	}
	return t
}

func messageTable(s *results.Set) Table {
	t := Table{Title: "What passed", Columns: Columns(">time|time ns", "dir", ">message|message B", "method", "id", ">reads")}
	for _, m := range s.Messages {
		t.AppendCells(figureCell(float64(m.T), results.FormatDuration(float64(m.T))), textCell(m.Dir), bytesCell(m.Size), textCell(m.Method), textCell(string(m.ID)), textCell(fmt.Sprint(max(1, len(m.Cuts)))))
	}
	return t
}

// valueText is what a probe found, sizes and times with their units.
func valueText(p results.Probe) string {
	if n, ok := p.Number(); ok {
		return results.FormatUnit(n, p.Unit)
	}
	return strings.TrimSpace(fmt.Sprint(p.Value) + " " + p.Unit)
}

// EvidenceText writes the evidence of a finding on one line, sorted by name:
// "accepted=65536, elapsed=1.50 s". It takes a [results.Evidence], or a struct
// with the names of the file. Times ("_ns") have their unit, estimates their
// interval; what is null, and curves, which charts show, are left out.
func EvidenceText(evidence any) string {
	e, err := results.NewEvidence(evidence)
	if err != nil {
		return fmt.Sprint(evidence)
	}
	var out []string
	for name, value := range e.Fields() {
		if name == "curve" || string(value) == "null" {
			continue
		}
		if base, isTime := strings.CutSuffix(name, "_ns"); isTime {
			if ns, err := strconv.ParseFloat(string(value), 64); err == nil {
				out = append(out, base+"="+results.FormatDuration(ns))
				continue
			}
		}
		out = append(out, name+"="+evidenceValue(value))
	}
	slices.Sort(out)
	return orDash(strings.Join(out, ", "))
}

// evidenceValue writes a fraction with three digits, a text without quotes, an
// estimate as such, and anything else as JSON. Whole numbers are exact: they may
// be counts of bytes.
func evidenceValue(value json.RawMessage) string {
	n, err := strconv.ParseFloat(string(value), 64)
	if err == nil && n != math.Trunc(n) {
		return results.FormatNumber(n, 3)
	}
	var e stat.Estimate
	if value[0] == '{' && json.Unmarshal(value, &e) == nil && e.N > 0 {
		text := results.FormatNumber(e.Median, 3)
		if e.Interval != nil {
			text += fmt.Sprintf(" [%s, %s]", results.FormatNumber(e.Interval.Lo, 3), results.FormatNumber(e.Interval.Hi, 3))
		}
		return fmt.Sprintf("%s (n = %d)", text, e.N)
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
