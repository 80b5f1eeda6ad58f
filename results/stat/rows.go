// Package stat computes figures from results, and compares two files or pairs of runs.
//
//	old, err := stat.ReadDataset("before.jsonl")
//	…
//	c := stat.Compare(old, new, stat.CompareOptions{})
//	if c.Outcome(0.05) == stat.OutcomeRegression {
//		return errors.New("slower")
//	}
//
// Every figure is a median with a 95 % interval and the number of samples it rests on. [Rows]
// computes all figures of a set. [Compare] compares two files, and [ComparePairs] compares two
// builds that ran in turns.
//
// Functions do not keep or change their arguments. They may run at the same time as long as nobody
// changes the arguments.
package stat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A Row has the figures of one cell, a combination of settings, on one machine over all its runs.
type Row struct {
	Machine string       `json:"machine"`
	Runs    []string     `json:"runs"`
	Cell    results.Cell `json:"cell"`
	Samples int          `json:"samples"`

	// Estimates has an estimate of each [Metric] that any sample has, by the name of the metric.
	Estimates map[string]Estimate        `json:"estimates,omitempty"`
	Latency   map[string]results.Latency `json:"latency,omitempty"` // merged over the samples

	// ToRaw is the cell's goodput divided by the goodput of the framing "raw", which adds nothing.
	// For round trips, it is the ratio of the times. It is nil if raw was not measured.
	ToRaw *Estimate `json:"to_raw,omitempty"`

	Ratios []float64 `json:"-"` // the ratio to raw in each round, even in disturbed ones

	// Told says from what a writer learned that its reader had closed the pipe: "EPIPE, SIGPIPE".
	Told string `json:"told,omitempty"`

	Unsupported string   `json:"unsupported,omitempty"`
	Failed      string   `json:"failed,omitempty"`
	Stopped     string   `json:"stopped,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`

	Records []results.Record `json:"-"` // the records that the samples are from

	id string // tells the machine from others in one list of rows
}

// Rows computes the figures of a set. The result has a row for each machine and combination of
// settings, in the order in which tables show them.
func Rows(s *results.Set) []Row {
	rows := gatherRows(s, results.Environment.Node)
	for i := range rows {
		rows[i].addFigures()
		rows[i].compareWithRaw(rows)
	}
	if len(s.Environments) > len(s.Machines()) { // else there are no two runs to compare
		for _, m := range FleetOf(s).Members() {
			m.warn(rows)
		}
	}
	sortRows(rows)
	return rows
}

// SampleRow makes a row from samples that do not belong to a record, such as those of a
// [results.Target]. The row is not compared with raw.
func SampleRow(machine string, c results.Cell, samples []results.Sample) Row {
	r := poolRecords(machine, results.Record{Cell: c, Samples: samples})
	r.addFigures()
	return r
}

// hashOf returns the hash of a machine. Comparisons take hosts with the same hash for one machine,
// because some CI systems give each run a new host.
func hashOf(e results.Environment) string { return e.Machine }

// gatherRows makes a row without figures for each machine and combination of settings. Runs with
// the same id are of one machine.
func gatherRows(s *results.Set, id func(results.Environment) string) []Row {
	type rowID struct {
		machine string
		cell    results.Cell
	}
	var order []rowID
	records := make(map[rowID][]results.Record)
	for _, r := range s.Records {
		e, _ := s.Environment(r.Run)
		row := rowID{id(e), r.Cell}
		if records[row] == nil {
			order = append(order, row)
		}
		records[row] = append(records[row], r)
	}
	var out []Row
	for _, id := range order {
		e, _ := s.Environment(records[id][0].Run)
		row := poolRecords(e.Machine, records[id]...)
		row.id = id.machine
		out = append(out, row)
	}
	return out
}

// poolRecords makes a row without figures from the records of one combination of settings. The last
// record decides whether the row counts as failed.
func poolRecords(machine string, records ...results.Record) Row {
	last := records[len(records)-1]
	r := Row{
		Machine:     machine,
		Cell:        last.Cell,
		Records:     records,
		Unsupported: last.Unsupported,
		Failed:      last.Failed,
		Stopped:     last.Stopped,
	}
	for _, rec := range records {
		if !slices.Contains(r.Runs, rec.Run) {
			r.Runs = append(r.Runs, rec.Run)
		}
		for _, warning := range rec.Warnings {
			if !slices.Contains(r.Warnings, warning) {
				r.Warnings = append(r.Warnings, warning)
			}
		}
	}
	samples := r.Pooled()
	r.Samples = len(samples)
	for _, s := range samples {
		if s.Closed == nil {
			continue
		}
		r.Told = s.Closed.Error
		if s.Closed.Signals != nil && *s.Closed.Signals > 0 {
			r.Told += ", SIGPIPE"
		}
		break
	}
	return r
}

// Pooled lists the samples of all the row's runs.
func (r Row) Pooled() []results.Sample {
	var out []results.Sample
	for _, rec := range r.Records {
		out = append(out, rec.Samples...)
	}
	return out
}

func (r *Row) addFigures() {
	r.Estimates = make(map[string]Estimate)
	r.Latency = make(map[string]results.Latency)
	distributions := make(map[string]distribution) // by latency key; "" is the primary latency
	for _, key := range latencyKeys {
		d, err := mergeLatencies(r.Records, key)
		if err != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s latency is not shown: %v", key, err))
		} else if d.merged.Count > 0 {
			r.Latency[key] = d.merged
			distributions[key] = d
		}
	}
	if key, ok := primaryLatency(r.Latency); ok {
		distributions[""] = distributions[key]
	}
	for _, m := range allMetrics() {
		var e Estimate
		if m.quantile != "" {
			e = distributions[m.key].quantile(m.quantile)
		} else {
			e = m.Estimate(r.Records...)
		}
		if e.N > 0 {
			r.Estimates[m.Name] = e
		}
	}
}

// LatencyOf returns the times of which a metric is a percentile. Its Count is 0 if there are none.
func (r Row) LatencyOf(m Metric) results.Latency {
	if m.key == "" {
		l, _ := r.PrimaryLatency()
		return l
	}
	return r.Latency[m.key]
}

// PrimaryLatency returns the latency that a user of the pipe feels: the first of "due",
// "roundtrip", "oneway" and "service" that the row has.
func (r Row) PrimaryLatency() (results.Latency, bool) {
	key, ok := primaryLatency(r.Latency)
	return r.Latency[key], ok
}

// Figure returns the figure of the named metric. The second result is false if the row lacks it.
func (r Row) Figure(metric string) (float64, bool) {
	e, ok := r.Estimates[metric]
	return e.Median, ok
}

// compareWithRaw compares the row with the one of the framing raw. It adds a warning if starts of
// the worker processes differ.
func (r *Row) compareWithRaw(all []Row) {
	if r.Cell.Framing == results.FramingRaw || r.Samples == 0 {
		return
	}
	m := RelativeMetric(r.Cell)
	warning := ""
	if base := r.findRaw(all); base != nil {
		ratios := m.ratios(r.Records, base.Records)
		if len(ratios) > 0 {
			r.ToRaw = new(estimate(ratios))
			r.Ratios = valuesOf(ratios)
		}
		format := func(v float64) string { return results.FormatNumber(v, 2) }
		warning = forkWarning("vs raw", format, ratios)
	} else {
		warning = forkWarning(m.Name, m.Format, m.observations(r.Records))
	}
	if warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
}

// findRaw finds the row of the same machine and settings with the framing raw. It returns nil if
// there is none.
func (r *Row) findRaw(all []Row) *Row {
	c := r.Cell
	c.Framing = results.FramingRaw
	for i := range all {
		if all[i].id == r.id && all[i].Cell == c {
			return &all[i]
		}
	}
	return nil
}

// RelativeMetric returns the metric in which a measurement is compared with the one of the framing
// raw: goodput, or time for round trips.
func RelativeMetric(c results.Cell) Metric {
	if c.Pattern == results.PatternRoundtrip {
		return MustMetric("time")
	}
	return MustMetric("goodput")
}

// The orders in which tables show values. Values that are not listed come last, sorted by name.
var (
	patternOrder = []string{"stream", "roundtrip"}
	framingOrder = []string{
		"raw", "ndjson", "ndjson-bytewise", "ndjson-rescan", "content-length",
		"chunked", "adaptive", "length-prefix",
	}
)

// sortRows sorts rows by machine, and the rows of one machine by their settings.
func sortRows(rows []Row) {
	var machines []string
	for _, r := range rows {
		if !slices.Contains(machines, r.id) {
			machines = append(machines, r.id)
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(byList(machines, a.id, b.id), compareCells(a.Cell, b.Cell))
	})
}

// compareCells orders combinations of settings by placement, pattern, the other fields, size and
// framing.
func compareCells(a, b results.Cell) int {
	return cmp.Or(
		results.ComparePlacements(a.Placement, b.Placement),
		byList(patternOrder, a.Pattern, b.Pattern),
		compareFields(SeriesCell(a), SeriesCell(b)),
		cmp.Compare(a.Size, b.Size),
		compareFramings(a.Framing, b.Framing))
}

func compareFields(a, b results.Cell) int {
	if a == b {
		return 0
	}
	for _, f := range results.Fields() {
		if order := f.Compare(a, b); order != 0 {
			return order
		}
	}
	return 0
}

// byList compares values by their index in a list. Values not in the list come last, by name.
func byList(list []string, a, b string) int {
	return cmp.Or(cmp.Compare(indexIn(list, a), indexIn(list, b)), cmp.Compare(a, b))
}

// indexIn returns a value's index in a list, or the list's length if the value is not there.
func indexIn(list []string, value string) int {
	i := slices.Index(list, value)
	if i < 0 {
		return len(list)
	}
	return i
}

// compareFramings compares framings by kind, and then by the size after the colon.
func compareFramings(a, b string) int {
	kindA, _, _ := strings.Cut(a, ":")
	kindB, _, _ := strings.Cut(b, ":")
	return cmp.Or(
		byList(framingOrder, kindA, kindB),
		cmp.Compare(results.ChunkSize(a), results.ChunkSize(b)),
		cmp.Compare(a, b),
	)
}

// SeriesCell returns the cell without its framing and size. What remains are the settings that all
// rows of one table have in common.
func SeriesCell(c results.Cell) results.Cell {
	c.Framing = ""
	c.Size = 0
	return c
}
