package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// MachineTitle returns the name of a machine, "" if it is the only one of the set.
func MachineTitle(s *results.Set, id string) string {
	if len(s.Machines()) < 2 {
		return ""
	}
	return s.MachineName(id)
}

// machineValue shows the name of a machine, nothing if it is the only one.
func machineValue(s *results.Set, id string) Value { return textValue(MachineTitle(s, id)) }

// MachinesLine describes the only one of machines, or counts them.
func MachinesLine(machines []results.Environment) string {
	switch len(machines) {
	case 0:
		return ""
	case 1:
		return MachineLine(machines[0])
	}
	return results.FormatCount(len(machines), "machine")
}

// MachineLine describes a machine in a line: "lab · Intel Xeon · 2 CPUs · linux 6.12 amd64 · kvm".
func MachineLine(e results.Environment) string {
	return JoinParts(e.Hostname, e.CPU, cpusText(e), systemText(e), e.Imitation, e.Virtualisation)
}

// cpusText says how many CPUs a machine has, nothing if its file does not tell.
func cpusText(e results.Environment) string {
	if e.CPUs == 0 {
		return ""
	}
	return results.FormatCount(e.CPUs, "CPU")
}

func systemText(e results.Environment) string {
	return strings.TrimSpace(e.OS + " " + e.Kernel + " " + e.Arch)
}

// loadText is the load average before a run, "-" where the system does not tell.
func loadText(e results.Environment) string {
	if e.Load1 == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *e.Load1)
}

// FirstRuns returns the environment of the first run on each machine.
func FirstRuns(s *results.Set) []results.Environment {
	var out []results.Environment
	seen := make(map[string]bool)
	for _, e := range s.Environments {
		if !seen[e.Machine] {
			seen[e.Machine] = true
			out = append(out, e)
		}
	}
	return out
}

// A machineField is what a page tells of a machine. The host, load and clock of two machines differ
// always, so a comparison of machines does not mention them.
type machineField struct{ title, text string }

// machineFields are in the order of a page.
func machineFields(e results.Environment) []machineField {
	cpus, page, largest, clock := "", "", "", ""
	if e.CPUs > 0 {
		cpus = strconv.Itoa(e.CPUs)
	}
	if e.PageSize > 0 {
		page = results.FormatSize(int64(e.PageSize))
	}
	if e.PipeMaxSize > 0 {
		largest = results.FormatSize(int64(e.PipeMaxSize))
	}
	if e.ClockNS >= 1e-3 {
		clock = results.FormatDuration(e.ClockNS) + " a reading"
	}
	return []machineField{
		{"host", e.Hostname},
		{"operating system", strings.TrimSpace(e.OS + " " + e.Kernel)},
		{"architecture", e.Arch},
		{"processor", e.CPU},
		{"CPUs", cpus},
		{"topology", e.Topology},
		{"page", page},
		{"largest pipe", largest},
		{"imitation", e.Imitation},
		{"virtualisation", e.Virtualisation},
		{"governor", e.Governor},
		{"load", loadText(e)},
		{"clock", clock},
		{"Go", e.Go},
		{"pipebench", e.Version},
	}
}

// machineTable compares the machines: a column each.
func machineTable(s *results.Set) Table {
	machines := FirstRuns(s)
	t := Table{Columns: []Column{{Key: true}}}
	for _, e := range machines {
		t.Columns = append(t.Columns, Column{Title: s.MachineName(e.Machine), Key: true})
	}
	if len(machines) == 0 {
		return t
	}
	for i, f := range machineFields(machines[0]) {
		row := []string{f.title}
		known := false
		for _, e := range machines {
			text := machineFields(e)[i].text
			known = known || text != ""
			row = append(row, text)
		}
		if known {
			t.Append(row...)
		}
	}
	return t
}

// maxDifferences is the number of cells of which sentences compare the machines.
const maxDifferences = 3

// machinesDiffer says in sentences what differs between several machines: what framings cost on
// them where the intervals lie apart, the widest difference first, then the machines themselves.
func machinesDiffer(s *results.Set, rows []stat.Row) []string {
	if len(s.Machines()) < 2 {
		return nil
	}
	type pair struct{ low, high stat.Row } // of a cell
	var compared int
	var found []pair
	for _, alike := range rowsByCell(rows) {
		var beside []stat.Row
		for _, r := range alike {
			if besideRaw(r) {
				beside = append(beside, r)
			}
		}
		if len(beside) == 0 {
			continue
		}
		compared++
		byRatio := func(a, b stat.Row) int { return cmp.Compare(a.ToRaw.Median, b.ToRaw.Median) }
		low := slices.MinFunc(beside, byRatio)
		high := slices.MaxFunc(beside, byRatio)
		if low.ToRaw.Interval.Hi < high.ToRaw.Interval.Lo {
			found = append(found, pair{low, high})
		}
	}
	slices.SortStableFunc(found, func(a, b pair) int {
		return cmp.Compare(b.high.ToRaw.Median/b.low.ToRaw.Median, a.high.ToRaw.Median/a.low.ToRaw.Median)
	})
	var out []string
	for _, p := range found[:min(len(found), maxDifferences)] {
		c := p.low.Cell
		out = append(out, fmt.Sprintf("%s at %s %s has %s of raw's %s on %s, %s on %s.",
			c.Framing, fieldText(c, "size"), PlacementPhrase(c.Placement),
			ratioText(p.low.ToRaw), relativeWord(c), s.MachineName(p.low.Machine),
			ratioText(p.high.ToRaw), s.MachineName(p.high.Machine)))
	}
	if len(found) == 0 && compared > 0 {
		out = append(out, "No framing costs significantly more on one of the machines than on another.")
	}
	if parts := machineDifferences(FirstRuns(s)); len(parts) > 0 {
		out = append(out, "The machines differ in "+strings.Join(parts, ", ")+".")
	}
	return out
}

// machineDifferences lists the fields in which machines differ: "CPUs (2; 8)".
func machineDifferences(machines []results.Environment) []string {
	var parts []string
	for i, f := range machineFields(machines[0]) {
		if slices.Contains([]string{"host", "load", "clock"}, f.title) {
			continue
		}
		var values []string
		differ := false
		for _, e := range machines {
			text := orDash(machineFields(e)[i].text)
			differ = differ || len(values) > 0 && text != values[0]
			values = append(values, text)
		}
		if differ {
			parts = append(parts, f.title+" ("+strings.Join(values, "; ")+")")
		}
	}
	return parts
}

// rowsByCell puts the rows of several machines with the same cell together.
func rowsByCell(rows []stat.Row) [][]stat.Row {
	var groups [][]stat.Row
	at := make(map[results.Cell]int)
	for _, r := range rows {
		i, known := at[r.Cell]
		if !known {
			i = len(groups)
			at[r.Cell] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// machineComparison has a row for each cell of a pattern that at least two machines measured.
func machineComparison(s *results.Set, rows []stat.Row, pattern, title string) Table {
	var own []stat.Row
	var cells []results.Cell
	for _, r := range rows {
		if r.Cell.Pattern == pattern {
			own = append(own, r)
			cells = append(cells, r.Cell)
		}
	}
	differ := results.DifferingFields(cells, "framing", "size", "pattern")
	t := Table{Title: title, Columns: cellHeads(differ)}
	for _, id := range s.Machines() {
		t.Columns = append(t.Columns, Column{Title: s.MachineName(id), Right: true, Key: true})
	}
	for _, alike := range rowsByCell(own) {
		if len(alike) < 2 {
			continue
		}
		row := cellValues(alike[0], differ)
		for _, id := range s.Machines() {
			text := "not measured"
			for _, r := range alike {
				if r.Machine == id {
					text = vsRawText(r)
				}
			}
			row = append(row, textValue(text))
		}
		t.AppendValues(row...)
	}
	return t
}

// vsRawText is a cell relative to raw on the same machine, and behind it the absolute figure:
// goodput, or p50 of a round trip.
func vsRawText(r stat.Row) string {
	if r.Samples == 0 {
		return emptyWord(r)
	}
	absolute := results.FormatGoodput(r.Estimates["goodput"].Median)
	if r.Cell.Pattern == results.PatternRoundtrip {
		if l, ok := r.PrimaryLatency(); ok && l.P50NS != nil {
			absolute = "p50 " + results.FormatDuration(float64(*l.P50NS))
		}
	}
	switch {
	case r.Cell.Framing == results.FramingRaw:
		return "1 (" + absolute + ")"
	case r.ToRaw == nil:
		return absolute
	}
	return ratioText(r.ToRaw) + " (" + absolute + ")"
}

// machineLimits has the best figures of each machine and placement: raw goodput, and the shortest
// raw round trip.
func machineLimits(s *results.Set, rows []stat.Row) Table {
	type best struct {
		machine, placement string
		goodput, trip      float64
		goodputAt, tripAt  string
	}
	var all []*best
	find := func(r stat.Row) *best {
		for _, b := range all {
			if b.machine == r.Machine && b.placement == r.Cell.Placement {
				return b
			}
		}
		b := &best{machine: r.Machine, placement: r.Cell.Placement}
		all = append(all, b)
		return b
	}
	for _, r := range rows {
		if r.Cell.Framing != results.FramingRaw {
			continue
		}
		b := find(r)
		if r.Cell.Pattern != results.PatternRoundtrip {
			if e := r.Estimates["goodput"]; e.Median > b.goodput {
				b.goodput = e.Median
				b.goodputAt = fieldText(r.Cell, "size")
			}
			continue
		}
		l, _ := r.PrimaryLatency()
		if l.P50NS != nil && (b.trip == 0 || float64(*l.P50NS) < b.trip) {
			b.trip = float64(*l.P50NS)
			b.tripAt = fieldText(r.Cell, "size")
		}
	}
	t := Table{Title: "Limits of each machine", Columns: []Column{
		{Title: "machine", Key: true},
		{Title: "placement", Key: true},
		{Title: "best raw goodput", Right: true, Key: true},
		{Title: "shortest raw round trip, p50", Right: true, Key: true},
	}}
	for _, b := range all {
		goodput, trip := "", ""
		if b.goodput > 0 {
			goodput = results.FormatGoodput(b.goodput) + " at " + b.goodputAt
		}
		if b.trip > 0 {
			trip = results.FormatDuration(b.trip) + " at " + b.tripAt
		}
		if goodput+trip != "" {
			t.Append(s.MachineName(b.machine), b.placement, goodput, trip)
		}
	}
	return t
}

// noiseTable has a row for each figure of a cell whose runs nothing distinguishes.
func noiseTable(s *results.Set) Table {
	t := Table{Title: "How far figures move between runs that nothing distinguishes", Columns: []Column{
		{Title: "machine", Key: true},
		{Title: "framing", Style: Code, Key: true},
		{Title: "message", Data: "message (B)", Right: true, Key: true},
		{Title: "placement", Key: true},
		{Title: "pattern"},
		{Title: "metric", Key: true},
		{Title: "median", Right: true},
		{Title: "runs", Right: true},
		{Title: "spread", Data: "spread (%)", Right: true},
		{Title: "min. detectable change", Data: "min. detectable change (%)", Right: true},
	}}
	for _, n := range s.Noise {
		var median Value
		if e := stat.Median(n.Values); e.N > 0 {
			// a metric of another version has no unit
			m, _ := stat.MetricByName(n.Metric)
			median = figureValue(e.Median, m.Format(e.Median))
		}
		detectable := Value{Text: "none"} // a comparison of this figure alone gets no verdict
		if share, ok := stat.NoiseBound(n, stat.DefaultAlpha); ok {
			detectable = figureValue(100*share, results.FormatPercent(100*share))
		}
		t.AppendValues(
			machineValue(s, n.Machine),
			textValue(n.Cell.Framing),
			bytesValue(int64(n.Cell.Size)),
			textValue(n.Cell.Placement),
			textValue(n.Cell.Pattern),
			textValue(n.Metric),
			median,
			countValue(int64(len(n.Values))),
			figureValue(100*n.Spread, results.FormatPercent(100*n.Spread)),
			detectable,
		)
	}
	return t
}
