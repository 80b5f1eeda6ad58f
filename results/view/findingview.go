package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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

func probeTable(s *results.Set) Table {
	t := Table{Title: "What the pipes do", Columns: Columns("pipe", "step", ">value", "documented", "agrees", "+how")}
	for _, p := range s.Probes {
		agrees := "-"
		if p.Agrees != nil {
			agrees = map[bool]string{true: "yes", false: "NO"}[*p.Agrees]
		}
		t.Append(orDash(p.Pipe), p.Step, valueText(p.Value, p.Unit), orDash(p.Documented), agrees, p.How)
	}
	return t
}

func faultTable(s *results.Set) Table {
	t := Table{Title: "How stdio fails", Columns: Columns("fault", "verdict", "evidence", "advice")}
	for _, f := range s.Faults {
		if !f.IsEnvironment() {
			t.Append(f.ID, f.Verdict, evidenceText(f.Evidence), orDash(f.Advice))
		}
	}
	return t
}

func environmentTable(s *results.Set) Table {
	t := Table{Title: "What disturbs measurements on this machine", Columns: Columns("what", "found", "+evidence", "remedy")}
	for _, f := range s.Faults {
		if f.IsEnvironment() {
			t.Append(strings.TrimPrefix(f.ID, results.EnvironmentFault), f.Verdict, evidenceText(f.Evidence), orDash(f.Advice))
		}
	}
	return t
}

func claimTable(s *results.Set) Table {
	t := Table{Title: "What the documents say, and whether it is so here", Columns: Columns("seed", "claim", "verdict", "figure", "why")}
	for _, c := range s.Claims {
		t.Append(c.Seed, c.Claim, c.Verdict, orDash(c.Figure), c.Why)
	}
	return t
}

func targetTable(s *results.Set) Table {
	t := Table{Title: "What the servers did", Columns: Columns("command", "protocol", ">message", "verdict", ">request limit", ">reply limit", ">searched to", ">time/msg", "warnings")}
	for _, g := range s.Targets {
		size, each := "-", "-"
		if g.Size > 0 {
			size = results.FormatSize(g.Size)
		}
		if e := stat.Median(stat.MustMetric("time").Values(g.Samples)); e.N > 0 {
			each = results.FormatDuration(e.Median) + spreadText(e)
		}
		t.Append(strings.Join(g.Command, " "), g.Protocol, size, g.Verdict,
			sizeOrDash(g.RequestLimit), sizeOrDash(g.ReplyLimit), sizeOrDash(g.SearchedTo), each, orDash(strings.Join(g.Warnings, "; ")))
	}
	return t
}

func tuneTable(s *results.Set) Table {
	t := Table{Title: "What chunk sizes cost", Columns: Columns("framing", ">message", ">GB/s", ">p50", ">p99", "evidence", "recommended", "warnings")}
	for _, u := range s.Tunes {
		r := stat.SampleRow("", u.Cell, u.Samples)
		recommended := map[bool]string{true: "<- this one", false: "-"}[u.Recommended]
		t.Append(u.Cell.Framing, results.FormatSize(int64(u.Cell.Size)), scaledEstimate("goodput", 1e-9)(r),
			percentileText(func(l results.Latency) *int64 { return l.P50NS })(r), percentileText(func(l results.Latency) *int64 { return l.P99NS })(r),
			evidenceText(u.Evidence), recommended, orDash(strings.Join(append(r.Warnings, u.Warnings...), "; ")))
	}
	return t
}

func noiseTable(s *results.Set) Table {
	t := Table{Title: "How far figures move between runs that nothing distinguishes", Columns: Columns("framing", ">message", "placement", "pattern", "metric", ">median", ">runs", ">spread", ">least change")}
	for _, n := range s.Noise {
		median := "-"
		if e := stat.Median(n.Values); e.N > 0 {
			median = results.FormatNumber(e.Median, 3)
			if m, err := stat.MetricByName(n.Metric); err == nil {
				median = m.Format(e.Median)
			}
		}
		t.Append(n.Cell.Framing, results.FormatSize(int64(n.Cell.Size)), n.Cell.Placement, n.Cell.Pattern, n.Metric, median, fmt.Sprint(len(n.Values)), results.FormatPercent(100*n.Spread), leastChange(n))
	}
	return t
}

// leastChange is what a comparison of this figure alone would have to go beyond;
// none where it gets no verdict.
func leastChange(n results.Noise) string {
	share, ok := stat.NoiseBound(n, stat.DefaultAlpha)
	if !ok {
		return "none"
	}
	return results.FormatPercent(100 * share)
}

func messageTable(s *results.Set) Table {
	t := Table{Title: "What passed", Columns: Columns(">time", "dir", ">message", "method", "id", ">reads")}
	for _, m := range s.Messages {
		t.Append(results.FormatDuration(float64(m.T)), m.Dir, results.FormatSize(m.Size), orDash(m.Method), orDash(string(m.ID)), fmt.Sprint(max(1, len(m.Cuts))))
	}
	return t
}

// valueText is what a probe found, sizes and times with their units.
func valueText(value any, unit string) string {
	if n, ok := value.(float64); ok {
		if unit == "" {
			return results.FormatNumber(n, 3)
		}
		return results.FormatUnit(n, unit)
	}
	return strings.TrimSpace(fmt.Sprint(value) + " " + unit)
}

// evidenceText is a finding's evidence on one line, by name.
func evidenceText(evidence map[string]any) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(evidence)) {
		value, err := json.Marshal(evidence[name])
		if err != nil {
			value = fmt.Append(nil, evidence[name])
		}
		out = append(out, name+"="+strings.Trim(string(value), `"`))
	}
	return orDash(strings.Join(out, ", "))
}

func sizeOrDash(n *int64) string {
	if n == nil {
		return "-"
	}
	return results.FormatSize(*n)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
