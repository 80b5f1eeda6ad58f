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

// probeTable has a row for each step, and for each machine a column with what was found.
func probeTable(s *results.Set) Table {
	type probes = onMachines[results.Probe]
	machines := stat.Distinct(s.Probes, func(p results.Probe) string { return s.Machine(p.Run) })
	columns := []columnOf[probes]{
		{"pipe", func(found probes) Cell { return textCell(found.first.Pipe) }},
		{"`step", func(found probes) Cell { return textCell(found.first.Step) }},
	}
	value := func(p results.Probe) Cell { // sizes and times with their units
		if n, ok := p.Number(); ok {
			return figureCell(n, results.FormatUnit(n, p.Unit))
		}
		return Cell{Text: strings.TrimSpace(fmt.Sprint(p.Value) + " " + p.Unit), Base: fmt.Sprint(p.Value)}
	}
	head := func(id string) string { return ">" + cmp.Or(MachineTitle(s, id), "value") }
	columns = append(columns, foundOn(machines, head, value)...)
	rows := byMachine(s, s.Probes, func(p results.Probe) string { return p.Pipe + " " + p.Step })
	return tableOf("What the pipes do", rows, append(columns, []columnOf[probes]{
		{"~documented", func(found probes) Cell {
			return textCell(JoinParts(found.texts(machines, func(p results.Probe) string { return p.Documented })...))
		}},
		{"!agrees", func(found probes) Cell {
			agrees := ""
			differ := found.texts(machines, func(p results.Probe) string {
				if p.Agrees == nil || *p.Agrees {
					agrees = map[bool]string{true: "yes", false: agrees}[p.Agrees != nil]
					return ""
				}
				return "NO " + MachineTitle(s, s.Machine(p.Run))
			})
			return textCell(strings.TrimSpace(cmp.Or(strings.Join(differ, ", "), agrees)))
		}},
		{"+~how", func(found probes) Cell { return textCell(found.first.How) }},
		{"#unit", func(found probes) Cell { return textCell(found.first.Unit) }},
	}...)...)
}

func faultTable(s *results.Set) Table {
	return tableOf("How stdio fails", stdioFaults(s), []columnOf[results.Fault]{
		{"`fault", func(f results.Fault) Cell { return textCell(f.ID) }},
		{"machine", func(f results.Fault) Cell { return machineCell(s, s.Machine(f.Run)) }},
		{"!verdict", func(f results.Fault) Cell { return verdictCell(f.Verdict) }},
		{"~evidence", func(f results.Fault) Cell { return textCell(EvidenceText(f.Evidence)) }},
		{"~advice", func(f results.Fault) Cell { return textCell(f.Advice) }},
		{"@`again", func(f results.Fault) Cell { return textCell(reproduceCommand(s, f)) }},
	}...)
}

func environmentTable(s *results.Set) Table {
	return tableOf("What disturbs measurements on this machine", disturbances(s), []columnOf[results.Fault]{
		{"`what", func(f results.Fault) Cell { return textCell(strings.TrimPrefix(f.ID, results.EnvironmentFault)) }},
		{"machine", func(f results.Fault) Cell { return machineCell(s, s.Machine(f.Run)) }},
		{"~found", func(f results.Fault) Cell { return textCell(f.Verdict) }},
		{"+~evidence", func(f results.Fault) Cell { return textCell(EvidenceText(f.Evidence)) }},
		{"~remedy", func(f results.Fault) Cell { return textCell(f.Advice) }},
	}...)
}

// claimTable has a row for each claim, and for each machine a column with its verdict. A claim that
// a machine judged more than once has a row each time.
func claimTable(s *results.Set) Table {
	type claims = onMachines[results.Claim]
	sorted := slices.SortedStableFunc(slices.Values(s.Claims), func(a, b results.Claim) int {
		return cmp.Or(strings.Compare(a.Seed, b.Seed), strings.Compare(a.ID, b.ID))
	})
	machines := stat.Distinct(sorted, func(c results.Claim) string { return s.Machine(c.Run) })
	// said is what the machines say, each with its name unless all say the same.
	said := func(of func(results.Claim) string) func(claims) Cell {
		return func(judged claims) Cell {
			texts := judged.texts(machines, of)
			if len(texts) > 1 {
				texts = judged.texts(machines, func(c results.Claim) string { return MachineTitle(s, s.Machine(c.Run)) + ": " + of(c) })
			}
			return textCell(JoinParts(texts...))
		}
	}
	rows := byMachine(s, sorted, func(c results.Claim) string { return c.Seed + " " + cmp.Or(c.ID, c.Claim) })
	return tableOf("Common claims about stdio, and whether they hold here", rows, slices.Concat([]columnOf[claims]{
		{"source|seed", func(judged claims) Cell { return Cell{Text: SourceTitle(judged.first.Seed), Base: judged.first.Seed} }},
		{"@`id", func(judged claims) Cell { return textCell(judged.first.ID) }},
		{"~claim", func(judged claims) Cell { return textCell(judged.first.Claim) }},
	}, foundOn(machines, func(id string) string { return "!" + cmp.Or(MachineTitle(s, id), "verdict") },
		func(c results.Claim) Cell { return verdictCell(c.Verdict) },
	), []columnOf[claims]{
		{"~figure", said(func(c results.Claim) string { return c.Figure })},
		{"~why", said(func(c results.Claim) string { return c.Why })},
	})...)
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

func noiseTable(s *results.Set) Table {
	type noise = results.Noise
	return tableOf("How far figures move between runs that nothing distinguishes", s.Noise, []columnOf[noise]{
		{"machine", func(n noise) Cell { return machineCell(s, n.Machine) }},
		{"`framing", func(n noise) Cell { return textCell(n.Cell.Framing) }},
		{">message|message (B)", func(n noise) Cell { return bytesCell(int64(n.Cell.Size)) }},
		{"placement", func(n noise) Cell { return textCell(n.Cell.Placement) }},
		{"?pattern", func(n noise) Cell { return textCell(n.Cell.Pattern) }},
		{"metric", func(n noise) Cell { return textCell(n.Metric) }},
		{">median", func(n noise) Cell {
			e := stat.Median(n.Values)
			m, _ := stat.MetricByName(n.Metric) // one of another version has no unit
			return when(e.N > 0, figureCell(e.Median, m.Format(e.Median)))
		}},
		{"?>runs", func(n noise) Cell { return textCell(fmt.Sprint(len(n.Values))) }},
		{">spread|spread (%)", func(n noise) Cell { return figureCell(100*n.Spread, results.FormatPercent(100*n.Spread)) }},
		{">min. detectable change|min. detectable change (%)", func(n noise) Cell {
			share, ok := stat.NoiseBound(n, stat.DefaultAlpha)
			none := Cell{Text: "none"} // a comparison of this figure alone gets no verdict
			return cmp.Or(when(ok, figureCell(100*share, results.FormatPercent(100*share))), none)
		}},
	}...)
}

func messageTable(s *results.Set) Table {
	type message = results.Message
	return tableOf("What passed", s.Messages, []columnOf[message]{
		{">time|time (ns)", func(m message) Cell { return nanosCell(float64(m.T)) }},
		{"dir", func(m message) Cell { return textCell(m.Dir) }},
		{">message|message (B)", func(m message) Cell { return bytesCell(m.Size) }},
		{"method", func(m message) Cell { return textCell(m.Method) }},
		{"id", func(m message) Cell { return textCell(string(m.ID)) }},
		{">reads", func(m message) Cell { return textCell(fmt.Sprint(max(1, len(m.Cuts)))) }},
	}...)
}

// EvidenceText writes the evidence of a finding on one line, sorted by name:
// "accepted=65536, elapsed=1.50 s". It takes a [results.Evidence], or a struct
// with the names of the file. Times ("_ns") have their unit, estimates their
// interval; what is null, and curves, which charts show, are left out.
func EvidenceText(evidence any) string {
	e, err := results.NewEvidence(evidence)
	fields := map[string]json.RawMessage{}
	if err = cmp.Or(err, e.Decode(&fields)); err != nil {
		return fmt.Sprint(evidence)
	}
	var out []string
	for name, value := range fields {
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
