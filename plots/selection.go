package plots

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// A selection is some of the records of a set: what the charts of cells are made from.
type selection struct {
	set     *results.Set
	records []results.Record
	suffix  string // what tells a chart of them from others, as part of its name: "", "-poller", "-fifo-64KiB"
}

// measuredIn selects the records of a set that have samples and for which keep holds. Those about
// writers that do not block have charts of their own.
func measuredIn(set *results.Set, keep func(results.Record) bool) selection {
	return selection{set: set, records: set.Records}.keep(func(r results.Record) bool {
		return len(r.Samples) > 0 && !r.Cell.IsWaiting() && keep(r)
	})
}

// keep selects the records for which a condition holds.
func (v selection) keep(holds func(results.Record) bool) selection {
	return selection{v.set, stat.Filter(v.records, holds), v.suffix}
}

// A dimension is a field of a cell, or the machine: one of the things in which two records may
// differ.
type dimension string

const machine dimension = "machine"

// valueOf returns the value that a record has in a dimension, "" if it has none.
func (v selection) valueOf(d dimension, r results.Record) string {
	if d == machine {
		return v.set.Machine(r.Run)
	}
	return r.Cell.Field(string(d))
}

// values lists the values of the records in a dimension: known names in their order, others as they
// first appear, numbers by size, rate limits the fastest first. Records come shuffled, as they were
// measured; pictures must not.
func (v selection) values(d dimension) []string {
	out := stat.Distinct(v.records, func(r results.Record) string { return v.valueOf(d, r) })
	slices.SortStableFunc(out, func(a, b string) int {
		x, okX := numeric(a)
		y, okY := numeric(b)
		switch ranks := cmp.Compare(rank(a), rank(b)); {
		case ranks != 0 || !okX || !okY:
			return ranks
		case d == "drain" && min(x, y) > 0: // a reader without a limit is the fastest
			return cmp.Compare(y, x)
		}
		return cmp.Compare(x, y)
	})
	return out
}

// rank orders the values of a dimension: raw first, then the names that have a fixed style in the
// order of those, then the rest.
func rank(value string) int {
	if isRaw(value) {
		return -1
	}
	if i, known := fixedStyles[family(value)]; known {
		return i
	}
	return len(fixedStyles)
}

// numeric reads a field that is a number; an absent field is 0, its default.
func numeric(value string) (float64, bool) {
	n, err := strconv.ParseFloat(cmp.Or(value, "0"), 64)
	return n, err == nil
}

func (v selection) varies(d dimension) bool { return len(v.values(d)) > 1 }

// varying returns those of the dimensions in which the records differ.
func (v selection) varying(all ...dimension) []dimension {
	return slices.DeleteFunc(slices.Clone(all), func(d dimension) bool { return !v.varies(d) })
}

// where selects the records with one value in a dimension.
func (v selection) where(d dimension, value string) selection {
	return v.keep(func(r results.Record) bool { return v.valueOf(d, r) == value })
}

// seriesOrder lists the dimensions that can make the series: the first one that varies does.
var seriesOrder = []dimension{"framing", "io", "pipe", "capacity", "transfer", "older", "drain", "closes_after", "batch", "read_buffer", "inflight", "rate", "payload", "messages", "sender"}

// grouping returns the dimension that makes the lines of a chart, unless it is given, and those that
// tell the charts of one kind apart: what varies beside the dimensions of the x axis and the panels.
func (v selection) grouping(lines dimension, shown ...dimension) (_ dimension, apart []dimension) {
	elsewhere := func(d dimension) bool { return d == lines || slices.Contains(shown, d) }
	if lines == "" {
		lines = append(slices.DeleteFunc(v.varying(seriesOrder...), elsewhere), "framing")[0]
	}
	all := append([]dimension{machine, "size", "placement", "pattern"}, seriesOrder...)
	return lines, slices.DeleteFunc(v.varying(all...), elsewhere)
}

// title names the values of a panel in the dimensions that have panels.
func (v selection) title(panels []dimension) string {
	return view.JoinParts(stat.Map(panels, func(d dimension) string {
		value := v.values(d)[0]
		switch {
		case d == "framing":
			return v.display(d, value)
		case d == "placement" && len(panels) == 1:
			return value + ": " + view.PlacementPhrase(value)
		case d == "placement":
			return value
		}
		return view.FieldPhrase(string(d), value)
	})...)
}

// groupBy makes a group for each combination of values in the dimensions.
func (v selection) groupBy(dimensions []dimension) []selection {
	if len(v.records) == 0 {
		return nil
	}
	groups := []selection{v}
	for _, d := range dimensions {
		groups = slices.Concat(stat.Map(groups, func(g selection) []selection {
			return stat.Map(g.values(d), func(value string) selection {
				own := g.where(d, value)
				own.suffix += "-" + slug(v.display(d, value))
				return own
			})
		})...)
	}
	return groups
}

// notInNames matches what cannot stand in the name of a file.
var notInNames = regexp.MustCompile(`[^a-zA-Z0-9.+-]`)

// slug writes a text so that it can stand in the name of a file.
func slug(text string) string {
	return notInNames.ReplaceAllString(strings.ReplaceAll(text, " ", ""), "_")
}

// display writes a value for people.
func (v selection) display(d dimension, value string) string {
	if d == machine {
		return v.set.MachineName(value)
	}
	return view.FieldValue(string(d), value)
}

// isRaw returns whether a framing's spec is raw, with or without its size.
func isRaw(spec string) bool { return spec == "raw" || strings.HasPrefix(spec, "raw:") }

// subtitle says where and on what the records were measured: a line for the machine, and one for
// what all records have in common of the things that decide a figure.
func (v selection) subtitle(skip ...dimension) []string {
	var parts []string
	for _, d := range []dimension{"pipe", "capacity", "older", "io", "payload", "size", "placement", "transfer", "drain", "closes_after", "rate", "inflight", "batch", "read_buffer", "messages", "sender"} {
		values := v.values(d)
		if len(values) != 1 || slices.Contains(skip, d) {
			continue
		}
		value := values[0]
		if back := v.capacities(); d == "capacity" && len(back) == 1 && back[0] > 0 { // what was read back, if all agree
			value = strconv.Itoa(back[0])
		}
		if value != "" && (d != "size" || value != "0") {
			parts = append(parts, view.FieldPhrase(string(d), value))
		}
	}
	return append(environmentLines(v.set, v.records), view.JoinParts(parts...))
}

// maxSeriesOfFraming is the number of sizes of one framing that a chart shows as lines; more sizes
// are a sweep, which has a chart of its own.
const maxSeriesOfFraming = 3

// limitSeries keeps the smallest and the largest of a framing with many sizes, and of the others
// the one with the most records; note says so. The reference comes first.
func (v selection) limitSeries(d dimension) (values []string, note string) {
	values = v.values(d)
	slices.SortStableFunc(values, func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), results.ChunkSize(a)-results.ChunkSize(b))
	})
	if d != "framing" {
		return values, ""
	}
	for _, name := range v.families() {
		all := slices.DeleteFunc(slices.Clone(values), func(s string) bool { return family(s) != name })
		if len(all) <= maxSeriesOfFraming {
			continue
		}
		records := func(spec string) int { return len(v.where(d, spec).records) }
		between := append([]string{all[len(all)/2]}, all[1:len(all)-1]...)
		fullest := slices.MaxFunc(between, func(a, b string) int { return records(a) - records(b) })
		keep := []string{all[0], fullest, all[len(all)-1]}
		values = slices.DeleteFunc(values, func(s string) bool { return family(s) == name && !slices.Contains(keep, s) })
		note = strings.TrimSpace(note + fmt.Sprintf(" Of %d sizes of %s, three are shown.", len(all), name))
	}
	return values, note
}

// families lists the framings without their sizes.
func (v selection) families() []string { return stat.Distinct(v.values("framing"), family) }

// samples returns the samples of all records: of one cell, or of the same cell in several runs.
func (v selection) samples() []results.Sample {
	return slices.Concat(stat.Map(v.records, func(r results.Record) []results.Sample { return r.Samples })...)
}

// capacities lists the capacities that were read back.
func (v selection) capacities() []int {
	return stat.Distinct(v.samples(), func(s results.Sample) int { return s.Capacity })
}

// mostMeasured selects the value of a dimension with the most records, which allows the most
// comparisons.
func (v selection) mostMeasured(d dimension) selection {
	best := selection{set: v.set}
	for _, value := range v.values(d) {
		if own := v.where(d, value); len(own.records) > len(best.records) {
			best = own
		}
	}
	return best
}

// typicalSize is the message size of figures that are shown for one size only: the usual capacity
// of a pipe.
const typicalSize = 64 << 10

// nearest selects the message size that is nearest to a size, by ratio.
func (v selection) nearest(size float64) selection {
	distance := func(value string) float64 {
		n, _ := numeric(value) // Cell.Fields writes a number
		return math.Abs(math.Log(n / size))
	}
	nearer := func(a, b string) int { return cmp.Compare(distance(a), distance(b)) }
	return v.where("size", slices.MinFunc(v.values("size"), nearer))
}
