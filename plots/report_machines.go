package plots

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// environments lays the machines side by side.
func (r *reporter) environments() *section {
	if len(r.machines) == 0 {
		return nil
	}
	s := &section{ID: "machines", Title: "Machines"}
	g := grid{Columns: columns("")}
	for _, e := range r.machines {
		g.Columns = append(g.Columns, column{Title: machineName(r.set, e.Machine)})
	}
	for _, f := range environmentFields {
		row := []cell{plain(f.title)}
		said := false
		for _, e := range r.machines {
			value := f.of(e)
			said = said || value != ""
			row = append(row, plain(value))
		}
		if said {
			g.add(nil, row...)
		}
	}
	r.addTable(s, g)
	if len(r.set.Environments) > len(r.machines) {
		s.Notes = append(s.Notes, fmt.Sprintf("%d runs on these machines are put together; load and clock are those of the first.", len(r.set.Environments)))
	}
	return s
}

// environmentFields are what a report tells of a machine, in its order.
var environmentFields = []struct {
	title string
	of    func(results.Environment) string
}{
	{"host", func(e results.Environment) string { return e.Hostname }},
	{"operating system", func(e results.Environment) string { return joinWords(e.OS, e.Kernel) }},
	{"architecture", func(e results.Environment) string { return e.Arch }},
	{"processor", func(e results.Environment) string { return e.CPU }},
	{"CPUs", func(e results.Environment) string { return positive(e.CPUs, strconv.Itoa) }},
	{"topology", func(e results.Environment) string { return e.Topology }},
	{"page", func(e results.Environment) string { return positive(e.PageSize, bytesText) }},
	{"largest pipe", func(e results.Environment) string { return positive(e.PipeMaxSize, bytesText) }},
	{"virtualisation", func(e results.Environment) string { return e.Virtualisation }},
	{"governor", func(e results.Environment) string { return e.Governor }},
	{"load", func(e results.Environment) string { return fmt.Sprintf("%.2f", e.Load1) }},
	{"clock", func(e results.Environment) string {
		if e.ClockNS <= 0 {
			return ""
		}
		return results.FormatDuration(e.ClockNS) + " a reading"
	}},
	{"Go", func(e results.Environment) string { return e.Go }},
	{"pipebench", func(e results.Environment) string { return e.Version }},
}

func bytesText(n int) string { return results.FormatSize(int64(n)) }

func positive(n int, write func(int) string) string {
	if n <= 0 {
		return ""
	}
	return write(n)
}

// sideBySide holds each cell of several machines against what the same machine
// does raw.
func (r *reporter) sideBySide() *section {
	if len(r.machines) < 2 || len(r.summary.Rows) == 0 {
		return nil
	}
	s := &section{
		ID:    "side-by-side",
		Title: "Side by side",
		Lead:  []string{"Absolute figures of two machines say little. So each cell is held against what the same machine does with raw messages of that size: a share of its goodput, a multiple of its round-trip time. The absolute figure stands below."},
	}
	for _, pattern := range []string{"stream", "roundtrip"} {
		r.addTable(s, r.comparison(pattern))
	}
	r.addTable(s, r.limits())
	r.addCharts(s, machineCharts(r.set))
	if len(s.Tables) == 0 {
		return nil
	}
	return s
}

// comparison is a table of the cells of one pattern that at least two machines
// measured.
func (r *reporter) comparison(pattern string) grid {
	v := measuredIn(r.set, func(rec results.Record) bool { return rec.Cell.Pattern == pattern })
	differ := slices.DeleteFunc(append([]dimension{"placement"}, seriesOrder[1:]...), func(d dimension) bool { return !v.varies(d) })
	g := grid{
		Caption: map[string]string{"stream": "Goodput, as a share of raw", "roundtrip": "Round-trip time, as a multiple of raw"}[pattern],
		Columns: columns("framing", ">message"),
	}
	for _, d := range differ {
		g.Columns = append(g.Columns, column{Title: string(d)})
	}
	for _, e := range r.machines {
		g.Columns = append(g.Columns, column{Title: machineName(v.set, e.Machine), Small: joinParts(e.Hostname, e.CPU), Right: true})
	}
	rows, order := r.byKey(pattern)
	for _, key := range order {
		if len(rows[key]) < 2 {
			continue
		}
		var own []cell
		var c results.Cell
		for _, e := range r.machines {
			row, ok := rows[key][e.Machine]
			own = append(own, relative(row, ok))
			if ok {
				c = row.Cell
			}
		}
		cells := []cell{code(framingTitle(c.Framing)), plain(sizeText(c))}
		for _, d := range differ {
			cells = append(cells, plain(display(d, v.valueOf(d, results.Record{Cell: c}))))
		}
		g.add(nil, append(cells, own...)...)
	}
	return g
}

// byKey finds the rows of each cell by machine, and lists the cells in order.
func (r *reporter) byKey(pattern string) (rows map[string]map[string]stat.Row, order []string) {
	rows = map[string]map[string]stat.Row{}
	for _, row := range r.summary.Rows {
		key := row.Cell.Key()
		switch {
		case row.Cell.Pattern != pattern:
			continue
		case rows[key] == nil:
			rows[key] = map[string]stat.Row{}
			order = append(order, key)
		}
		rows[key][row.Machine] = row
	}
	return rows, order
}

// relative is a cell against the machine's own raw.
func relative(row stat.Row, ok bool) cell {
	if !ok {
		return plain("not measured")
	}
	if row.Samples == 0 {
		return plain(emptyWord(row))
	}
	own := headline(row)
	switch {
	case isRaw(row.Cell.Framing):
		return cell{Text: "1", Small: own}
	case row.ToRaw == nil:
		return plain(own)
	case row.ToRaw.Interval == nil:
		return cell{Text: fmt.Sprintf("%.2f", row.ToRaw.Median), Small: own}
	}
	return cell{Text: fmt.Sprintf("%.2f [%.2f, %.2f]", row.ToRaw.Median, row.ToRaw.Interval.Lo, row.ToRaw.Interval.Hi), Small: own}
}

// headline is the one figure of a row: goodput, or p50 of a round trip.
func headline(row stat.Row) string {
	if row.Cell.Pattern == "roundtrip" {
		if l, ok := row.PrimaryLatency(); ok && l.P50NS != nil {
			return "p50 " + results.FormatDuration(float64(*l.P50NS))
		}
	}
	return results.FormatGoodput(row.Estimates["goodput"].Median)
}

// limits are the best that each machine does in a placement: raw goodput, and
// the shortest raw round trip.
func (r *reporter) limits() grid {
	g := grid{Caption: "Limits of each machine", Columns: columns("machine", "placement", ">best raw goodput", ">shortest raw round trip, p50")}
	for _, e := range r.machines {
		for _, placement := range measuredIn(r.set, func(rec results.Record) bool { return r.set.Machine(rec.Run) == e.Machine }).values("placement") {
			goodput, trip := r.best(e.Machine, placement)
			if goodput != "" || trip != "" {
				g.add(nil, plain(machineName(r.set, e.Machine)), plain(placement), plain(goodput), plain(trip))
			}
		}
	}
	return g
}

func (r *reporter) best(machine, placement string) (goodput, trip string) {
	var most, least float64
	for _, row := range r.summary.Rows {
		if row.Machine != machine || row.Cell.Placement != placement || !isRaw(row.Cell.Framing) {
			continue
		}
		if e := row.Estimates["goodput"]; row.Cell.Pattern == "stream" && e.Median > most {
			most, goodput = e.Median, fmt.Sprintf("%s at %s", results.FormatGoodput(e.Median), sizeText(row.Cell))
		}
		if l, ok := row.PrimaryLatency(); ok && row.Cell.Pattern == "roundtrip" && l.P50NS != nil && (least == 0 || float64(*l.P50NS) < least) {
			least = float64(*l.P50NS)
			trip = fmt.Sprintf("%s at %s", results.FormatDuration(least), sizeText(row.Cell))
		}
	}
	return goodput, trip
}
