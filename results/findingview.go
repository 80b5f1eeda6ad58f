package results

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// findings are tables of what the set holds beside measurements, a kind each.
func (s *Set) findings() []Table {
	all := []Table{s.probeTable(), s.environmentTable(), s.faultTable(), s.claimTable(), s.targetTable(), s.tuneTable(), s.noiseTable(), s.messageTable()}
	var out []Table
	for _, t := range all {
		if len(t.Rows) > 0 {
			out = append(out, t.dropEmpty())
		}
	}
	return out
}

func (s *Set) probeTable() Table {
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

func (s *Set) faultTable() Table {
	t := Table{Title: "How stdio fails", Columns: Columns("fault", "verdict", "evidence", "advice")}
	for _, f := range s.Faults {
		if !f.environment() {
			t.Append(f.ID, f.Verdict, evidenceText(f.Evidence), orDash(f.Advice))
		}
	}
	return t
}

// environment tells a fault of the machine, which disturbs measurements, from
// one of stdio.
func (f Fault) environment() bool { return strings.HasPrefix(f.ID, EnvironmentFault) }

func (s *Set) environmentTable() Table {
	t := Table{Title: "What disturbs measurements on this machine", Columns: Columns("what", "found", "+evidence", "remedy")}
	for _, f := range s.Faults {
		if f.environment() {
			t.Append(strings.TrimPrefix(f.ID, EnvironmentFault), f.Verdict, evidenceText(f.Evidence), orDash(f.Advice))
		}
	}
	return t
}

func (s *Set) claimTable() Table {
	t := Table{Title: "What the documents say, and whether it is so here", Columns: Columns("seed", "claim", "verdict", "figure", "why")}
	for _, c := range s.Claims {
		t.Append(c.Seed, c.Claim, c.Verdict, orDash(c.Figure), c.Why)
	}
	return t
}

func (s *Set) targetTable() Table {
	t := Table{Title: "What the servers did", Columns: Columns("command", "protocol", ">message", "verdict", ">request limit", ">reply limit", ">searched to", ">time/msg", "warnings")}
	for _, g := range s.Targets {
		size, each := "-", "-"
		if g.Size > 0 {
			size = FormatSize(g.Size)
		}
		if e := Median(valuesOf("time", g.Samples)); e.N > 0 {
			each = FormatDuration(e.Median) + spreadText(e)
		}
		t.Append(strings.Join(g.Command, " "), g.Protocol, size, g.Verdict,
			sizeOrDash(g.RequestLimit), sizeOrDash(g.ReplyLimit), sizeOrDash(g.SearchedTo), each, orDash(strings.Join(g.Warnings, "; ")))
	}
	return t
}

func (s *Set) tuneTable() Table {
	t := Table{Title: "What chunk sizes cost", Columns: Columns("framing", ">message", ">GB/s", ">p50", ">p99", "evidence", "recommended", "warnings")}
	for _, u := range s.Tunes {
		r := Row{Cell: u.Cell}
		r.add(Record{Samples: u.Samples, Cell: u.Cell})
		r.estimate()
		recommended := map[bool]string{true: "<- this one", false: "-"}[u.Recommended]
		t.Append(u.Cell.Framing, FormatSize(int64(u.Cell.Size)), scaledEstimate("goodput", 1e-9)(r),
			percentileText(func(l Latency) *int64 { return l.P50NS })(r), percentileText(func(l Latency) *int64 { return l.P99NS })(r),
			evidenceText(u.Evidence), recommended, orDash(strings.Join(append(r.Warnings, u.Warnings...), "; ")))
	}
	return t
}

func (s *Set) noiseTable() Table {
	t := Table{Title: "How far figures move between runs that nothing distinguishes", Columns: Columns("framing", ">message", "placement", "pattern", "metric", ">median", ">runs", ">spread", ">least change")}
	for _, n := range s.Noise {
		median := "-"
		if e := Median(n.Values); e.N > 0 {
			median = significant(e.Median, 3)
			if m, err := MetricByName(n.Metric); err == nil {
				median = m.Format(e.Median)
			}
		}
		t.Append(n.Cell.Framing, FormatSize(int64(n.Cell.Size)), n.Cell.Placement, n.Cell.Pattern, n.Metric, median, fmt.Sprint(len(n.Values)), FormatPercent(100*n.Spread), leastChange(n))
	}
	return t
}

// leastChange is what a comparison of this figure alone would have to go beyond;
// none where it gets no verdict.
func leastChange(n Noise) string {
	share, ok := n.Bound(DefaultAlpha)
	if !ok {
		return "none"
	}
	return FormatPercent(100 * share)
}

func (s *Set) messageTable() Table {
	t := Table{Title: "What passed", Columns: Columns(">time", "dir", ">message", "method", "id", ">reads")}
	for _, m := range s.Messages {
		t.Append(FormatDuration(float64(m.T)), m.Dir, FormatSize(m.Size), orDash(m.Method), orDash(string(m.ID)), fmt.Sprint(max(1, len(m.Cuts))))
	}
	return t
}

// valuesOf are the values of a metric that is in the list.
func valuesOf(name string, samples []Sample) []float64 {
	m := known(name)
	return m.Values(samples)
}

// valueText is what a probe found, sizes and times with their units.
func valueText(value any, unit string) string {
	if n, ok := value.(float64); ok {
		if unit == "" {
			return significant(n, 3)
		}
		return formatUnit(n, unit)
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
	return FormatSize(*n)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
