package plots

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A view is measurements with the environments of their runs: what the charts
// of cells are made from.
type view struct {
	set     *results.Set
	records []results.Record
	fields  map[results.Cell]map[dimension]string // of the cells seen so far, shared by all views of a view
}

func newView(set *results.Set, keep func(results.Record) bool) view {
	return wholeView(set, set.Records).keep(func(r results.Record) bool { return len(r.Samples) > 0 && keep(r) })
}

// wholeView is a view of records, those without samples too.
func wholeView(set *results.Set, records []results.Record) view {
	return view{set, records, map[results.Cell]map[dimension]string{}}
}

// keep is the view of the records for which a condition holds.
func (v view) keep(holds func(results.Record) bool) view {
	out := view{set: v.set, fields: v.fields}
	for _, r := range v.records {
		if holds(r) {
			out.records = append(out.records, r)
		}
	}
	return out
}

// A dimension is a field of a cell, or the machine: one of the things in which
// two records may differ.
type dimension string

const machine dimension = "machine"

// of is the value that a record has in a dimension, "" where it is off there.
func (v view) of(d dimension, r results.Record) string {
	if d == machine {
		return v.set.Machine(r.Run)
	}
	if v.fields[r.Cell] == nil {
		v.fields[r.Cell] = map[dimension]string{}
		for _, f := range r.Cell.Fields() {
			v.fields[r.Cell][dimension(f.Name)] = f.Value
		}
	}
	return v.fields[r.Cell][d]
}

// values lists what the records have in a dimension: names that are known in
// their order, others as they first appear, numbers by size. Records come
// shuffled, as they were measured; pictures must not.
func (v view) values(d dimension) []string {
	var out []string
	for _, r := range v.records {
		if value := v.of(d, r); !slices.Contains(out, value) {
			out = append(out, value)
		}
	}
	compare := compareNumbers
	if d == "drain" {
		compare = compareDrains
	}
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), compare(a, b)) })
	return out
}

// compareDrains orders readers' rates, the fastest first: without one a reader
// takes all it can.
func compareDrains(a, b string) int {
	limit := func(value string) float64 {
		if n, ok := numeric(value); ok && n > 0 {
			return n
		}
		return math.Inf(1)
	}
	return cmp.Compare(limit(b), limit(a))
}

// rank orders the values of a dimension: raw first, then the names that have a
// look of their own in the order of those, then the rest.
func rank(value string) int {
	if isRaw(value) {
		return -1
	}
	if i, known := lookOf[family(value)]; known {
		return i
	}
	return len(lookOf)
}

// compareNumbers orders numbers by size and leaves all else where it is.
func compareNumbers(a, b string) int {
	x, okX := numeric(a)
	y, okY := numeric(b)
	if !okX || !okY {
		return 0
	}
	return cmp.Compare(x, y)
}

// numeric reads a field that is a number; an absent one is 0, its default.
func numeric(value string) (float64, bool) {
	if value == "" {
		return 0, true
	}
	n, err := strconv.ParseFloat(value, 64)
	return n, err == nil
}

func (v view) varies(d dimension) bool { return len(v.values(d)) > 1 }

// where keeps the records with one value in a dimension.
func (v view) where(d dimension, value string) view {
	return v.keep(func(r results.Record) bool { return v.of(d, r) == value })
}

// A facet says how a chart lays its records out: what its lines are, and what
// tells one file of the kind from another.
type facet struct {
	lines dimension
	files []dimension
}

// lineOrder is which dimension makes the lines where the framing does not
// vary: the first of these that does.
var lineOrder = []dimension{"framing", "io", "pipe", "capacity", "transfer", "peer", "drain", "batch", "read_buffer", "clock", "inflight", "rate", "payload", "messages", "sender"}

// facets looks at what varies in the records beside x and the panels.
func (v view) facets(x, panels dimension) facet {
	f := facet{lines: "framing"}
	for _, d := range lineOrder {
		if d != x && d != panels && v.varies(d) {
			f.lines = d
			break
		}
	}
	all := append([]dimension{machine, "size", "placement", "pattern"}, lineOrder...)
	for _, d := range all {
		if d != x && d != panels && d != f.lines && v.varies(d) {
			f.files = append(f.files, d)
		}
	}
	return f
}

// A part is the records of one file, with what is said of it in its name.
type part struct {
	view
	suffix string // "", "-poller", "-fifo-64KiB"
}

// split makes a part for each combination of values in the dimensions.
func (v view) split(dimensions []dimension) []part {
	parts := []part{{view: v}}
	for _, d := range dimensions {
		var next []part
		for _, p := range parts {
			for _, value := range p.values(d) {
				next = append(next, part{p.where(d, value), p.suffix + "-" + v.slug(d, value)})
			}
		}
		parts = next
	}
	return parts
}

// slug writes a value so that it can stand in a file's name.
func (v view) slug(d dimension, value string) string {
	if d == machine {
		return slug(machineName(v.set, value))
	}
	return slug(display(d, value))
}

func slug(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '+', r == '-':
			return r
		case r == ' ':
			return -1
		default:
			return '_'
		}
	}, text)
}

// machineName is short and differs between the machines of the set: the
// system and architecture; where several have those, the host's name too; where
// several have that, the beginning of the hash.
func machineName(set *results.Set, id string) string {
	var own results.Environment
	for _, e := range set.Environments {
		if e.Machine == id {
			own = e
		}
	}
	if own.OS == "" {
		return "unknown"
	}
	others := func(same func(results.Environment) bool) bool {
		return slices.ContainsFunc(set.Environments, func(e results.Environment) bool { return e.Machine != id && same(e) })
	}
	name := own.OS + "/" + own.Arch
	if !others(func(e results.Environment) bool { return e.OS == own.OS && e.Arch == own.Arch }) {
		return name
	}
	if own.Hostname != "" && !others(func(e results.Environment) bool { return e.Hostname == own.Hostname }) {
		return name + " " + own.Hostname
	}
	return name + " " + shortID(id)
}

// shortID is the beginning of a machine's hash, as sentences of results have it.
func shortID(id string) string {
	id = strings.TrimPrefix(id, "sha256:")
	return id[:min(len(id), 8)]
}

// display writes a value of a cell for people.
func display(d dimension, value string) string {
	switch d {
	case "capacity", "size", "read_buffer":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n > 0 {
			return results.FormatSize(n)
		}
		return "default"
	case "drain":
		if rate, err := strconv.ParseFloat(value, 64); err == nil && rate > 0 {
			return Rate.Format(rate)
		}
		return "full rate"
	case "framing":
		return framingTitle(value)
	case "transfer":
		return cmp.Or(value, "copy")
	case "rate":
		return cmp.Or(value, "full")
	}
	return cmp.Or(value, "default")
}

// framingTitle writes the size of a framing's spec in binary units.
func framingTitle(spec string) string {
	name, size, ok := strings.Cut(spec, ":")
	n, err := strconv.ParseInt(size, 10, 64)
	if !ok || err != nil {
		return spec
	}
	return name + ":" + strings.ReplaceAll(results.FormatSize(n), " ", "")
}

// placementTitles say what a placement is, above its panel.
var placementTitles = map[string]string{
	"same":    "same: both ends on one CPU",
	"sibling": "sibling: two hardware threads of a core",
	"apart":   "apart: two cores under one cache",
	"far":     "far: two cores with caches apart",
	"free":    "free: wherever the scheduler puts them",
}

// facetTitle names the panel of a value.
func facetTitle(d dimension, value string) string {
	if d == "placement" {
		return cmp.Or(placementTitles[value], value)
	}
	return display(d, value)
}

// lineOf makes the series of a value of the line dimension.
func lineOf(d dimension, value string) Series {
	return Series{Name: display(d, value), Reference: d == "framing" && isRaw(value)}
}

// isRaw says whether a framing's spec is raw, with or without its size.
func isRaw(spec string) bool { return spec == "raw" || strings.HasPrefix(spec, "raw:") }
