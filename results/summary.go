package results

import (
	"fmt"
	"slices"
	"time"
)

// A Summary is what the records of a set say, figure by figure and in words:
// the one view that all formats show.
type Summary struct {
	Environments []Environment `json:"environments"`
	Rows         []Row         `json:"rows"`
	Meaning      []string      `json:"meaning,omitempty"` // what it means for the person, in plain sentences
	Notes        []string      `json:"notes,omitempty"`   // what has to be known to read the figures

	// Warnings are those that every measured row has, of which there are two at
	// least. The rows do not repeat them; the notes have them too.
	Warnings []string `json:"warnings,omitempty"`
}

// A Row is one cell on one machine. Samples of several runs are pooled.
type Row struct {
	Machine   string              `json:"machine"`
	Runs      []string            `json:"runs"`
	Cell      Cell                `json:"cell"`
	Samples   int                 `json:"samples"`
	Estimates map[string]Estimate `json:"estimates,omitempty"` // by [Metric] name; one that no sample carries is absent
	Latency   map[string]Latency  `json:"latency,omitempty"`   // merged over the samples

	// ToRaw sets the cell beside raw, the framing that costs nothing, with all
	// else the same: its goodput over raw's, in a round trip its time over
	// raw's. Nil where the runs have no such cell. ToRawWire does so with raw
	// messages as long as this cell's are on the wire, RawWireSize bytes.
	ToRaw       *Estimate `json:"to_raw,omitempty"`
	ToRawWire   *Estimate `json:"to_raw_wire,omitempty"`
	RawWireSize int       `json:"raw_wire_size,omitempty"`

	Unsupported string   `json:"unsupported,omitempty"`
	Failed      string   `json:"failed,omitempty"`
	Stopped     string   `json:"stopped,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`

	records []Record
}

const (
	rawFraming = "raw"
	roundtrip  = "roundtrip"
)

// Summarise works out the figures of every cell of the set.
func Summarise(s *Set) Summary {
	sum := Summary{Environments: s.Environments, Rows: rowsOf(s)}
	for i := range sum.Rows {
		sum.Rows[i].estimate()
	}
	for i := range sum.Rows {
		sum.Rows[i].relate(sum.Rows)
	}
	sortRows(sum.Rows)
	sum.Warnings = shareWarnings(sum.Rows)
	sum.Meaning = meaning(sum.Rows)
	sum.Notes = notes(s, sum.Rows)
	for _, w := range sum.Warnings {
		sum.Notes = append(sum.Notes, "every cell: "+w)
	}
	return sum
}

// rowsOf gathers the records of each cell of each machine.
func rowsOf(s *Set) []Row {
	type id struct {
		machine string
		cell    Cell
	}
	at := make(map[id]int)
	var rows []Row
	for _, r := range s.Records {
		i := id{s.Machine(r.Run), r.Cell}
		if _, ok := at[i]; !ok {
			at[i] = len(rows)
			rows = append(rows, Row{Machine: i.machine, Cell: r.Cell})
		}
		rows[at[i]].add(r)
	}
	return rows
}

func (r *Row) add(rec Record) {
	r.records = append(r.records, rec)
	if !slices.Contains(r.Runs, rec.Run) {
		r.Runs = append(r.Runs, rec.Run)
	}
	r.Samples += len(rec.Samples)
	r.Unsupported, r.Failed, r.Stopped = rec.Unsupported, rec.Failed, rec.Stopped // the last word counts
	for _, w := range rec.Warnings {
		if !slices.Contains(r.Warnings, w) {
			r.Warnings = append(r.Warnings, w)
		}
	}
}

// shareWarnings takes out of the rows what all that were measured are warned of.
func shareWarnings(rows []Row) []string {
	measured := filter(rows, func(r Row) bool { return r.Samples > 0 })
	if len(measured) < 2 {
		return nil
	}
	shared := filter(measured[0].Warnings, func(w string) bool {
		return !slices.ContainsFunc(measured, func(r Row) bool { return !slices.Contains(r.Warnings, w) })
	})
	for i := range rows {
		rows[i].Warnings = filter(rows[i].Warnings, func(w string) bool { return !slices.Contains(shared, w) })
	}
	return shared
}

// times are when the first and the last of the row's records were finished.
func (r *Row) times() (since, until time.Time) {
	for i, rec := range r.records {
		if i == 0 || rec.Time.Before(since) {
			since = rec.Time
		}
		if rec.Time.After(until) {
			until = rec.Time
		}
	}
	return since, until
}

// samples are those of all the row's runs.
func (r *Row) samples() []Sample {
	var out []Sample
	for _, rec := range r.records {
		out = append(out, rec.Samples...)
	}
	return out
}

func (r *Row) estimate() {
	samples := r.samples()
	r.Estimates = make(map[string]Estimate)
	for _, m := range allMetrics {
		if e := Median(m.Values(samples)); e.N > 0 {
			r.Estimates[m.Name] = e
		}
	}
	for _, key := range latencyKeys {
		l, err := mergeKey(samples, key)
		if err != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s latency is not shown: %v", key, err))
		}
		if err == nil && l.Count > 0 {
			if r.Latency == nil {
				r.Latency = make(map[string]Latency)
			}
			r.Latency[key] = l
		}
	}
}

func mergeKey(samples []Sample, key string) (Latency, error) {
	var all []Latency
	for _, s := range samples {
		if l, ok := s.Latency[key]; ok {
			all = append(all, l)
		}
	}
	if len(all) == 0 {
		return Latency{}, nil
	}
	return MergeLatencies(all)
}

// Felt is the latency that a user of the pipe feels: from when a message was
// due where there was a schedule, else the round trip, else one way.
func (r Row) Felt() (Latency, bool) {
	key, ok := felt(r.Latency)
	return r.Latency[key], ok
}

// relate finds the raw cells that the row can be set beside.
func (r *Row) relate(all []Row) {
	if r.Cell.Framing == rawFraming || r.Samples == 0 {
		return
	}
	if base := r.raw(all, r.Cell.Size); base != nil {
		r.ToRaw = r.over(base)
	}
	if wire, ok := r.Estimates["wire"]; ok && r.Cell.Size > 0 && int(wire.Median+0.5) != r.Cell.Size {
		if base := r.raw(all, int(wire.Median+0.5)); base != nil {
			r.ToRawWire, r.RawWireSize = r.over(base), base.Cell.Size
		}
	}
}

// raw finds the row's cell with raw for a framing and messages of that size.
func (r *Row) raw(all []Row, size int) *Row {
	c := r.Cell
	c.Framing, c.Size = rawFraming, size
	i := slices.IndexFunc(all, func(o Row) bool { return o.Machine == r.Machine && o.Cell == c })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// over is the row beside another: goodput over goodput, or, of round trips,
// time over time. Goodput of cells that carry the wire's bytes as payload
// counts those, which is what the comparison with the same wire size is for.
func (r *Row) over(base *Row) *Estimate {
	e := PairedRatio(relative(r.Cell, base.Cell), r.records, base.records)
	if e.N == 0 {
		return nil
	}
	return &e
}

// relative is the metric by which a cell is set beside raw.
func relative(c, base Cell) Metric {
	name := "goodput"
	switch {
	case c.Pattern == roundtrip:
		name = "time"
	case c.Size != base.Size:
		name = "rate" // as many bytes pass for each message: messages a second compare the pipes
	}
	m := known(name)
	return m
}
