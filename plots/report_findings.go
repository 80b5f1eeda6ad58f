package plots

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
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
		Commands: r.commands(distinct(r.set.Tunes, func(u results.Tune) string { return u.Run }), "pipebench tune"),
	}
	g := grid{Caption: "Chunk sizes", Columns: columns("machine", ">run", "framing", ">message", ">reader", ">capacity", ">goodput", ">wait, p50", ">wait, p99", "sender", "evidence", "")}
	for _, u := range r.set.Tunes {
		advice := cell{}
		if u.Recommended {
			advice = cell{Text: "recommended", Class: "good"}
		}
		v := newSelection(r.set, []results.Record{{Cell: u.Cell, Samples: u.Samples}})
		g.add(u.Warnings, plain(r.nameOf(u.Run)), plain(r.runNumber(u.Run)), code(framingTitle(u.Cell.Framing)), plain(sizeText(u.Cell)), plain(display("drain", strconv.FormatInt(u.Cell.Drain, 10))),
			plain(v.capacity(strconv.Itoa(u.Cell.Capacity))), medianCell(u.Samples, "goodput"), medianCell(u.Samples, "due.p50"), medianCell(u.Samples, "due.p99"), plain(u.Cell.Sender), long(evidenceText(u.Evidence)), advice)
	}
	r.addTable(s, g)
	r.addCharts(s, tuneCharts(r.set))
	return s
}

// medianCell is the median of a metric over samples.
func medianCell(samples []results.Sample, name string) cell {
	m := metricNamed(name)
	e := stat.Median(m.Values(samples))
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
		Commands: r.commands(distinct(r.set.Probes, func(p results.Probe) string { return p.Run }), "pipebench probe"),
	}
	r.addTable(s, r.probeGrid())
	r.addCharts(s, probeCharts(r.set))
	return s
}

// agreement counts how the probes stand to the documented rules.
func (r *reporter) agreement() []string {
	if len(r.set.Probes) == 0 {
		return nil
	}
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
	if agree+differ == 0 {
		return []string{fmt.Sprintf("%s by experiment, for which no rule is documented.", count(len(r.set.Probes), "figure"))}
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
	machines := distinct(r.set.Probes, func(p results.Probe) string { return r.set.Machine(p.Run) })
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
		g.add(nil, append(row, long(documented), long(how))...)
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
	case ok && unit == "B/s":
		return results.FormatGoodput(n)
	case ok && unit == "B" && n >= 1024 && n == float64(int64(n)) && int64(n)%1024 == 0:
		return fmt.Sprintf("%.0f B (%s)", n, results.FormatSize(int64(n)))
	case ok:
		return joinWords(strconv.FormatFloat(n, 'f', -1, 64), unit)
	}
	return joinWords(fmt.Sprint(value), unit)
}

// claims are statements of documents with their verdicts.
func (r *reporter) claims() *section {
	if len(r.set.Claims) == 0 {
		return nil
	}
	s := &section{
		ID:       "claims",
		Title:    "What the documents say, and whether it is so",
		Commands: append(r.commands(distinct(r.set.Claims, func(c results.Claim) string { return c.Run }), "pipebench claims"), "pipebench claims --explain ID"),
	}
	r.addTable(s, r.claimGrid())
	return s
}

// claimGrid has a row a claim, and for each machine a column with its verdict.
// What one machine judged more than once has a row each time.
func (r *reporter) claimGrid() grid {
	type id struct {
		seed, id string
		time     int // of this claim on this machine
	}
	rows := map[id]map[string]results.Claim{}
	judged := map[string]int{}
	for _, c := range r.set.Claims {
		on := r.set.Machine(c.Run)
		i := id{c.Seed, c.ID, judged[on+"\x00"+c.ID]}
		judged[on+"\x00"+c.ID]++
		if rows[i] == nil {
			rows[i] = map[string]results.Claim{}
		}
		rows[i][on] = c
	}
	machines := distinct(r.set.Claims, func(c results.Claim) string { return r.set.Machine(c.Run) })
	g := grid{Caption: "Claims", Columns: columns("seed", "id", "claim")}
	for _, m := range machines {
		title := "verdict"
		if len(machines) > 1 {
			title = machineName(r.set, m)
		}
		g.Columns = append(g.Columns, column{Title: title})
	}
	g.Columns = append(g.Columns, columns("figure", "why")...)
	for _, i := range slices.SortedFunc(maps.Keys(rows), func(a, b id) int {
		return cmp.Or(strings.Compare(a.seed, b.seed), strings.Compare(a.id, b.id), a.time-b.time)
	}) {
		g.add(nil, r.claimRow(i.seed, i.id, machines, rows[i])...)
	}
	return g
}

func (r *reporter) claimRow(seed, id string, machines []string, judged map[string]results.Claim) []cell {
	claim := ""
	var verdicts []cell
	for _, m := range machines {
		c, ok := judged[m]
		if !ok {
			verdicts = append(verdicts, cell{})
			continue
		}
		claim = c.Claim
		verdicts = append(verdicts, verdictCell(c.Verdict))
	}
	said := func(of func(results.Claim) string) cell { return long(r.byMachine(machines, judged, of)) }
	return slices.Concat([]cell{plain(seed), code(id), long(claim)}, verdicts,
		[]cell{said(func(c results.Claim) string { return c.Figure }), said(func(c results.Claim) string { return c.Why })})
}

// byMachine is what a claim's verdicts say of something: once where all say the
// same, else each after its machine's name.
func (r *reporter) byMachine(machines []string, judged map[string]results.Claim, of func(results.Claim) string) string {
	var different, named []string
	for _, m := range machines {
		c, ok := judged[m]
		if !ok {
			continue
		}
		if text := of(c); !slices.Contains(different, text) {
			different = append(different, text)
		}
		named = append(named, machineName(r.set, m)+": "+of(c))
	}
	if len(different) == 1 {
		return different[0]
	}
	return joinParts(named...)
}

// verdictCell colours a verdict; its word says the same. The words of claims,
// faults and servers are told apart by what they mean for a person.
func verdictCell(verdict string) cell {
	c := cell{Text: verdict, Class: "bad"}
	switch verdict {
	case "holds", "ok", "sound", "exit 0":
		c.Class = "good"
	case "depends", "slow", "grows", "noticed", "refused", "error reply", "grows faster than linear":
		c.Class = "mixed"
	case "not-testable-here", "unsupported", "":
		c.Class = ""
	}
	return c
}

// What a fault is one of: doctor writes down those of the machine.
const (
	stdio       = "stdio"
	environment = "environment"
)

// faultsOf are the faults of one kind.
func (r *reporter) faultsOf(kind string) []results.Fault {
	return slices.DeleteFunc(slices.Clone(r.set.Faults), func(f results.Fault) bool {
		return strings.HasPrefix(f.ID, environment+"/") != (kind == environment)
	})
}

// faults are the ways in which stdio fails.
func (r *reporter) faults() *section {
	faults := r.faultsOf(stdio)
	if len(faults) == 0 {
		return nil
	}
	s := &section{ID: "faults", Title: "How stdio fails"}
	g := grid{Caption: "Faults", Columns: columns("fault", "machine", "verdict", "evidence", "what to do", "again")}
	for _, f := range faults {
		g.add(nil, code(f.ID), plain(r.nameOf(f.Run)), verdictCell(f.Verdict), long(evidenceText(f.Evidence)), long(f.Advice), code(r.reproduceCommand(f)))
	}
	r.addTable(s, g)
	r.addCharts(s, faultCharts(r.set))
	return s
}

// reproduceCommand reproduces a fault: by its scenario, or, where what failed is another
// program or a recording, by the command of its run.
func (r *reporter) reproduceCommand(f results.Fault) string {
	scenario, _, _ := strings.Cut(f.ID, "/")
	command := r.commands([]string{f.Run}, "pipebench run")[0]
	for _, own := range []string{"pipebench run", "pipebench claims"} {
		if command == own || strings.HasPrefix(command, own+" ") {
			return "pipebench run --scenario " + scenario
		}
	}
	return command
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
// Whole numbers are exact: they may be counts of bytes.
func evidenceValue(v any) string {
	if n, ok := number(v); ok && n != math.Trunc(n) {
		return threeDigits(n)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	var e stat.Estimate
	if _, isMap := v.(map[string]any); isMap && json.Unmarshal(text, &e) == nil && e.N > 0 {
		if e.Interval == nil {
			return threeDigits(e.Median)
		}
		return fmt.Sprintf("%s [%s, %s]", threeDigits(e.Median), threeDigits(e.Interval.Lo), threeDigits(e.Interval.Hi))
	}
	return strings.Trim(string(text), `"`)
}
