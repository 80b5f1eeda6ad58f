package plots

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// chunkSizes are the records of tune.
func (r *reporter) chunkSizes() *section {
	if len(r.set.Tunes) == 0 {
		return nil
	}
	s := &section{
		ID:       "chunk-size",
		Title:    "Choosing a chunk size",
		Lead:     []string{"Chunks cost goodput and CPU. What they buy is that a small message need not wait for the whole of a large one; how long it waits depends on the pipe's capacity, the chunk, and the reader's rate."},
		Commands: r.commands(runsOf(r.set.Tunes, func(u results.Tune) string { return u.Run }), "pipebench tune"),
	}
	g := grid{Caption: "Chunk sizes", Columns: columns("machine", ">run", "framing", ">message", ">reader", ">capacity", ">goodput", ">wait, p50", ">wait, p99", "sender", "evidence", "")}
	for _, u := range r.set.Tunes {
		advice := cell{}
		if u.Recommended {
			advice = cell{Text: "recommended", Class: "good"}
		}
		v := wholeView(r.set, []results.Record{{Cell: u.Cell, Samples: u.Samples}})
		g.add(u.Warnings, plain(r.nameOf(u.Run)), plain(r.runNumber(u.Run)), code(framingTitle(u.Cell.Framing)), plain(sizeText(u.Cell)), plain(display("drain", strconv.FormatInt(u.Cell.Drain, 10))),
			plain(v.capacity(strconv.Itoa(u.Cell.Capacity))), medianCell(u.Samples, "goodput"), medianCell(u.Samples, "due.p50"), medianCell(u.Samples, "due.p99"), plain(u.Cell.Sender), plain(evidenceText(u.Evidence)), advice)
	}
	r.tabled(s, g)
	r.draw(s, tuneCharts(r.set))
	return s
}

// medianCell is the median of a metric over samples.
func medianCell(samples []results.Sample, name string) cell {
	m := metricNamed(name)
	e := results.Median(m.Values(samples))
	if e.N == 0 {
		return cell{}
	}
	return estimateCell(m, e)
}

// pipes lay the rules that probe found beside those that are documented, a
// column a machine.
func (r *reporter) pipes() *section {
	if len(r.set.Probes) == 0 {
		return nil
	}
	s := &section{
		ID:       "pipes",
		Title:    "What the pipes do",
		Lead:     r.agreement(),
		Commands: r.commands(runsOf(r.set.Probes, func(p results.Probe) string { return p.Run }), "pipebench probe"),
	}
	r.tabled(s, r.probeGrid())
	r.draw(s, probeCharts(r.set))
	return s
}

// agreement counts how the probes stand to the documented rules.
func (r *reporter) agreement() []string {
	agree, differ := 0, 0
	for _, p := range r.set.Probes {
		switch {
		case p.Agrees == nil:
		case *p.Agrees:
			agree++
		default:
			differ++
		}
	}
	return []string{fmt.Sprintf("%d rules were found by experiment. %d agree with what is documented for the system, %d differ, %d have no documented rule.",
		len(r.set.Probes), agree, differ, len(r.set.Probes)-agree-differ)}
}

// probeGrid has a row a step and a column a machine.
func (r *reporter) probeGrid() grid {
	type id struct{ pipe, step string }
	var order []id
	found := map[id]map[string]results.Probe{}
	for _, p := range r.set.Probes {
		i := id{p.Pipe, p.Step}
		if found[i] == nil {
			found[i] = map[string]results.Probe{}
			order = append(order, i)
		}
		found[i][r.set.Machine(p.Run)] = p
	}
	machines := runsOf(r.set.Probes, func(p results.Probe) string { return r.set.Machine(p.Run) })
	g := grid{Caption: "Rules, by experiment", Columns: columns("pipe", "step")}
	for _, m := range machines {
		title := "found"
		if len(machines) > 1 {
			title = machineName(r.set, m)
		}
		g.Columns = append(g.Columns, column{Title: title, Right: true})
	}
	g.Columns = append(g.Columns, columns("documented", "how")...)
	for _, i := range order {
		row := []cell{plain(i.pipe), code(i.step)}
		documented, how := "", ""
		for _, m := range machines {
			p, ok := found[i][m]
			row = append(row, probeCell(p, ok))
			if p.Documented != "" && !strings.Contains(documented, p.Documented) {
				documented = joinParts(documented, p.Documented)
			}
			if how == "" {
				how = p.How
			}
		}
		g.add(nil, append(row, plain(documented), plain(how))...)
	}
	return g
}

func probeCell(p results.Probe, ok bool) cell {
	if !ok {
		return cell{}
	}
	c := plain(valueText(p.Value, p.Unit))
	switch {
	case p.Agrees == nil:
	case *p.Agrees:
		c.Class, c.Small = "good", "agrees"
	default:
		c.Class, c.Small = "bad", "differs"
	}
	return c
}

// valueText is what a probe found: bytes to the byte, times with their unit.
func valueText(value any, unit string) string {
	n, ok := number(value)
	switch {
	case ok && unit == "ns":
		return results.FormatDuration(n)
	case ok && unit == "B" && n >= 1024 && n == float64(int64(n)) && int64(n)%1024 == 0:
		return fmt.Sprintf("%.0f B (%s)", n, results.FormatSize(int64(n)))
	case ok:
		return joinWords(strconv.FormatFloat(n, 'f', -1, 64), unit)
	}
	return joinWords(fmt.Sprint(value), unit)
}

// claims are statements of documents with their verdicts, a column a machine.
func (r *reporter) claims() *section {
	if len(r.set.Claims) == 0 {
		return nil
	}
	s := &section{
		ID:       "claims",
		Title:    "What the documents say, and whether it is so",
		Commands: append(r.commands(runsOf(r.set.Claims, func(c results.Claim) string { return c.Run }), "pipebench claims"), "pipebench claims --explain ID"),
	}
	g := grid{Caption: "Claims", Columns: columns("seed", "id", "claim", "machine", "verdict", "figure", "why")}
	ordered := slices.Clone(r.set.Claims)
	slices.SortStableFunc(ordered, func(a, b results.Claim) int { return strings.Compare(a.Seed+"\x00"+a.ID, b.Seed+"\x00"+b.ID) })
	for _, c := range ordered {
		g.add(nil, plain(c.Seed), code(c.ID), plain(c.Claim), plain(r.nameOf(c.Run)), verdictCell(c.Verdict), plain(c.Figure), plain(c.Why))
	}
	r.tabled(s, g)
	return s
}

// verdictCell colours a verdict; its word says the same. The words of claims,
// faults and servers are told apart by what they mean for a person.
func verdictCell(verdict string) cell {
	c := cell{Text: verdict, Class: "bad"}
	switch verdict {
	case "holds", "ok", "sound":
		c.Class = "good"
	case "depends", "slow", "grows", "noticed", "refused", "error reply", "grows faster than linear":
		c.Class = "mixed"
	case "not-testable-here", "unsupported", "":
		c.Class = ""
	}
	return c
}

// faults are the ways in which stdio fails.
func (r *reporter) faults() *section {
	if len(r.set.Faults) == 0 {
		return nil
	}
	s := &section{ID: "faults", Title: "How stdio fails"}
	g := grid{Caption: "Faults", Columns: columns("fault", "machine", "verdict", "evidence", "what to do", "again")}
	for _, f := range r.set.Faults {
		scenario, _, _ := strings.Cut(f.ID, "/")
		g.add(nil, code(f.ID), plain(r.nameOf(f.Run)), verdictCell(f.Verdict), plain(evidenceText(f.Evidence)), plain(f.Advice), code("pipebench run --scenario "+scenario))
	}
	r.tabled(s, g)
	r.draw(s, faultCharts(r.set))
	return s
}

// evidenceText is a finding's evidence on one line, by name. What is drawn as a
// curve is left out.
func evidenceText(evidence map[string]any) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(evidence)) {
		if name == "curve" || evidence[name] == nil {
			continue
		}
		base, isTime := strings.CutSuffix(name, "_ns")
		if n, ok := number(evidence[name]); ok && isTime {
			parts = append(parts, base+": "+results.FormatDuration(n))
			continue
		}
		parts = append(parts, name+": "+evidenceValue(evidence[name]))
	}
	return joinParts(parts...)
}

// evidenceValue writes a number, a text, an estimate, or anything else as JSON.
func evidenceValue(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	var e results.Estimate
	if _, isMap := v.(map[string]any); isMap && json.Unmarshal(text, &e) == nil && e.N > 0 {
		if e.Interval == nil {
			return short(e.Median)
		}
		return fmt.Sprintf("%s [%s, %s]", short(e.Median), short(e.Interval.Lo), short(e.Interval.Hi))
	}
	return strings.Trim(string(text), `"`)
}
