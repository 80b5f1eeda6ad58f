package measure

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/rules"
)

// Page lays the limits of a set's machine in one table, a column a placement.
// A set of another sort gives a page without rows.
func ProfilePage(set *results.Set) rules.View {
	rows := view.Summarise(set).Rows
	p := page{set: set, rows: rows, places: placesOf(rows)}
	t := view.Table{Title: "The limits of this machine's pipes", Columns: view.Columns("what", "of")}
	for _, place := range p.places {
		t.Columns = append(t.Columns, view.Column{Title: place, Right: true})
	}
	p.memory(&t)
	p.streams(&t, "", "raw stream")
	p.streams(&t, "vmsplice", "raw stream, vmsplice [2]")
	p.streams(&t, "splice", "raw stream, splice [3]")
	p.trips(&t)
	return rules.View{Header: p.header(), Tables: []view.Table{t}, Notes: p.notes()}
}

type page struct {
	set    *results.Set
	rows   []stat.Row
	places []string
}

// placesOf are the placements of the rows, in the order in which views show them.
func placesOf(rows []stat.Row) []string {
	var places []string
	for _, r := range rows {
		if !slices.Contains(places, r.Cell.Placement) {
			places = append(places, r.Cell.Placement)
		}
	}
	return places
}

func (p page) header() []string {
	var lines []string
	for _, e := range p.set.Environments {
		line := fmt.Sprintf("%s %s %s · %s · %s", e.OS, e.Kernel, e.Arch, e.CPU, e.Topology)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func (p page) memory(t *view.Table) {
	for _, size := range []int{beyondCache, inCache} {
		row, any := []string{"memory copy [1]", results.FormatSize(int64(size))}, false
		for _, place := range p.places {
			rate, ok := p.copyRate(size, place)
			row, any = append(row, text(results.FormatGoodput(rate), ok)), any || ok
		}
		if any {
			t.Append(row...)
		}
	}
}

// copyRate finds how fast memory was copied, in bytes a second.
func (p page) copyRate(size int, place string) (float64, bool) {
	step := fmt.Sprintf("%s%d/%s", MemoryStep, size, place)
	for _, r := range slices.Backward(p.set.Probes) {
		rate, ok := r.Value.(float64)
		if r.Step == step && ok {
			return rate, true
		}
	}
	return 0, false
}

func text(s string, ok bool) string {
	if !ok {
		return "-"
	}
	return s
}

func (p page) streams(t *view.Table, transfer, what string) {
	for _, size := range profileStreamSizes {
		p.row(t, what, size, "stream", transfer, func(r stat.Row) string {
			return estimate(r, "goodput", results.FormatGoodput)
		})
	}
}

func (p page) trips(t *view.Table) {
	for _, size := range profileTripSizes {
		p.row(t, "raw round trip, median", size, "roundtrip", "", func(r stat.Row) string {
			l, ok := r.PrimaryLatency()
			if !ok || l.P50NS == nil {
				return "-"
			}
			return results.FormatDuration(float64(*l.P50NS))
		})
		p.row(t, "raw round trip, p99", size, "roundtrip", "", func(r stat.Row) string {
			l, ok := r.PrimaryLatency()
			if !ok || l.P99NS == nil {
				return "-"
			}
			return results.FormatDuration(float64(*l.P99NS))
		})
	}
}

// row adds one row, unless no placement has it.
func (p page) row(t *view.Table, what string, size int, pattern, transfer string, figure func(stat.Row) string) {
	row, any := []string{what, results.FormatSize(int64(size))}, false
	for _, place := range p.places {
		r, ok := p.find(size, place, pattern, transfer)
		cell := "-"
		if ok {
			cell, any = figure(r), true
		}
		if ok && r.Failed != "" {
			cell = "failed: " + r.Failed
		}
		row = append(row, cell)
	}
	if any {
		t.Append(row...)
	}
}

func (p page) find(size int, place, pattern, transfer string) (stat.Row, bool) {
	at := slices.IndexFunc(p.rows, func(r stat.Row) bool {
		c := r.Cell
		return c.Framing == "raw" && c.Size == size && c.Placement == place && c.Pattern == pattern && c.Transfer == transfer
	})
	if at < 0 {
		return stat.Row{}, false
	}
	return p.rows[at], true
}

// estimate is a median and how far its interval goes.
func estimate(r stat.Row, metric string, format func(float64) string) string {
	e, ok := r.Estimates[metric]
	if !ok {
		return "-"
	}
	if percent, ok := e.Spread(); ok {
		return fmt.Sprintf("%s ±%.0f%%", format(e.Median), percent)
	}
	return format(e.Median)
}

// notes say what the figures are, what lent pages do not do, and how near the
// pipe comes to the memory.
func (p page) notes() []string {
	notes := []string{
		"[1] bytes copied a second by one thread on each CPU of the placement at once, each between its own buffers",
	}
	if p.lent() {
		notes = append(notes,
			"[2] the writer lends its pages instead of copying bytes: it may not change them until the reader has copied them out",
			"[3] the reading end drops the lent pages: nobody reads the bytes, and no byte is copied. It is what the pipe can do, not what a program can")
	} else if err := lending(); err != nil {
		notes = append(notes, err.Error())
	}
	notes = append(notes, p.shares()...)
	return append(notes, "± is the 95 % interval of the median.")
}

// lent reports whether the set has rows of lent pages.
func (p page) lent() bool {
	return slices.ContainsFunc(p.rows, func(r stat.Row) bool { return r.Cell.Transfer != "" })
}

// shares set raw streams beside the memory: a pipe copies each byte twice.
func (p page) shares() []string {
	const size = 64 << 10
	var out []string
	for _, place := range p.places {
		rate, known := p.copyRate(inCache, place)
		r, ok := p.find(size, place, "stream", "")
		if !known || !ok || rate <= 0 {
			continue
		}
		if e, ok := r.Estimates["goodput"]; ok {
			out = append(out, fmt.Sprintf("Placement %s: raw at %s passes %.2g times as many bytes a second as its CPUs copy in their caches; a pipe copies each byte twice.",
				place, results.FormatSize(size), e.Median/rate))
		}
	}
	return out
}
