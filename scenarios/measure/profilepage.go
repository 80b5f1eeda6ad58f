package measure

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// ProfilePage lays the limits of a set's machine in one table, a column a placement. A set of
// another sort gives a page without rows.
func ProfilePage(set *results.Set) view.Page {
	p := page{set: set, rows: view.Summarise(set).Rows}
	p.table = view.Table{Title: "The limits of this machine's pipes", Columns: view.Columns("what", "of")}
	for _, r := range p.rows {
		if place := r.Cell.Placement; !slices.Contains(p.places, place) {
			p.places = append(p.places, place)
			p.table.Columns = append(p.table.Columns, view.Column{Title: place, Right: true})
		}
	}
	for _, size := range []int{beyondCache, inCache} {
		p.add("memory copy [1]", size, func(place string) (string, bool) {
			rate, ok := p.copyRate(size, place)
			return results.FormatGoodput(rate), ok
		})
	}
	for _, stream := range [][2]string{{"", "raw stream"}, {"vmsplice", "raw stream, vmsplice [2]"}, {"splice", "raw stream, splice [3]"}} {
		for _, size := range profileStreamSizes {
			p.addCell(stream[1], size, "stream", stream[0], goodputOf)
		}
	}
	for _, size := range profileTripSizes {
		p.addCell("raw round trip, median", size, "roundtrip", "", func(r stat.Row) string {
			return latencyOf(r, func(l results.Latency) *int64 { return l.P50NS })
		})
		p.addCell("raw round trip, p99", size, "roundtrip", "", func(r stat.Row) string {
			return latencyOf(r, func(l results.Latency) *int64 { return l.P99NS })
		})
	}
	return view.Page{Header: p.header(), Tables: []view.Table{p.table}, Notes: p.notes()}
}

type page struct {
	set    *results.Set
	rows   []stat.Row
	places []string // of the rows, in their order
	table  view.Table
}

func (p *page) header() []string {
	var lines []string
	for _, e := range p.set.Environments {
		line := fmt.Sprintf("%s %s %s · %s · %s", e.OS, e.Kernel, e.Arch, e.CPU, e.Topology)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// add adds a row, unless no placement has the figure.
func (p *page) add(what string, size int, figure func(place string) (string, bool)) {
	row, any := []string{what, results.FormatSize(int64(size))}, false
	for _, place := range p.places {
		text, ok := figure(place)
		if !ok {
			text = "-"
		}
		row, any = append(row, text), any || ok
	}
	if any {
		p.table.Append(row...)
	}
}

// addCell adds a row of what was measured.
func (p *page) addCell(what string, size int, pattern, transfer string, figure func(stat.Row) string) {
	p.add(what, size, func(place string) (string, bool) {
		r, ok := p.find(size, place, pattern, transfer)
		switch {
		case !ok:
			return "", false
		case r.Failed != "":
			return "failed: " + r.Failed, true
		}
		return figure(r), true
	})
}

func (p *page) find(size int, place, pattern, transfer string) (stat.Row, bool) {
	at := slices.IndexFunc(p.rows, func(r stat.Row) bool {
		c := r.Cell
		return c.Framing == "raw" && c.Size == size && c.Placement == place && c.Pattern == pattern && c.Transfer == transfer
	})
	if at < 0 {
		return stat.Row{}, false
	}
	return p.rows[at], true
}

// copyRate finds how fast memory was copied, in bytes a second.
func (p *page) copyRate(size int, place string) (float64, bool) {
	step := fmt.Sprintf("%s%d/%s", MemoryStep, size, place)
	for _, r := range slices.Backward(p.set.Probes) {
		if rate, ok := r.Value.(float64); ok && r.Step == step {
			return rate, true
		}
	}
	return 0, false
}

// goodputOf returns the median of a row's goodput and how far its interval goes.
func goodputOf(r stat.Row) string {
	e, ok := r.Estimates["goodput"]
	if !ok {
		return "-"
	}
	text := results.FormatGoodput(e.Median)
	if percent, ok := e.Spread(); ok {
		text += fmt.Sprintf(" ±%.0f%%", percent)
	}
	return text
}

func latencyOf(r stat.Row, percentile func(results.Latency) *int64) string {
	l, ok := r.PrimaryLatency()
	if ns := percentile(l); ok && ns != nil {
		return results.FormatDuration(float64(*ns))
	}
	return "-"
}

// notes say what the figures are, what zero-copy does not do, and how near the pipe comes to the
// memory: a pipe copies each byte twice.
func (p *page) notes() []string {
	notes := []string{
		"[1] bytes copied a second by one thread on each CPU of the placement at once, each between its own buffers",
	}
	if slices.ContainsFunc(p.rows, func(r stat.Row) bool { return r.Cell.Transfer != "" }) {
		notes = append(notes,
			"[2] the writer lends its pages instead of copying bytes: it may not change them until the reader has copied them out",
			"[3] the reading end drops the lent pages: nobody reads the bytes, and no byte is copied. It is what the pipe can do, not what a program can")
	} else if err := zeroCopySupported(); err != nil {
		notes = append(notes, err.Error())
	}
	const size = 64 << 10
	for _, place := range p.places {
		rate, known := p.copyRate(inCache, place)
		r, ok := p.find(size, place, "stream", "")
		if e, measured := r.Estimates["goodput"]; known && ok && measured && rate > 0 {
			notes = append(notes, fmt.Sprintf("Placement %s: raw at %s passes %.2g times as many bytes a second as its CPUs copy in their caches; a pipe copies each byte twice.",
				place, results.FormatSize(size), e.Median/rate))
		}
	}
	return append(notes, "± is the 95 % interval of the median.")
}
