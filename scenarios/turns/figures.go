package turns

import (
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A figure is one measure by which starts are compared.
type figure struct {
	name, unit string
	value      func(Start) float64
}

// The figures. The unit "" is that of a number.
var (
	reads        = figure{"reads", "", func(s Start) float64 { return float64(s.Counts.Reads) }}
	writes       = figure{"writes", "", func(s Start) float64 { return float64(s.Counts.Writes) }}
	bytesRead    = figure{"bytes read", "B", readBytes}
	bytesWritten = figure{"bytes written", "B", writtenBytes}
	instructions = figure{"instructions", "", executed}

	cpuTime = figure{"CPU time", "ns", func(s Start) float64 { return s.CPU }}
	elapsed = figure{"time", "ns", func(s Start) float64 { return s.Wall }}
)

func readBytes(s Start) float64    { return float64(s.Counts.ReadBytes) }
func writtenBytes(s Start) float64 { return float64(s.Counts.WrittenBytes) }
func executed(s Start) float64     { return float64(s.Instructions) }

// countFigures are the figures that the system counts.
var countFigures = []figure{reads, writes, bytesRead, bytesWritten}

// Metrics lists the names of the figures that Compare may judge.
func (p *Programs) Metrics() []string {
	var names []string
	if !p.AreServers {
		for _, f := range countFigures {
			names = append(names, f.name)
		}
	}
	if p.oldInstructions != nil {
		names = append(names, instructions.name)
	}
	if !p.CountOnly {
		names = append(names, cpuTime.name, elapsed.name)
	}
	return names
}

// A table holds the figures of both sides.
type table struct {
	old, new stat.Dataset
}

// add adds a figure of both sides. If isShownOnly is true, it is never a reason to fail.
func (t *table) add(f figure, from starts, isShownOnly bool) {
	isCount := f.unit != "ns"
	m := stat.Metric{
		Name:      f.name,
		Unit:      f.unit,
		Better:    stat.Lower,
		Counter:   isCount,
		ByRange:   isCount,
		ShownOnly: isShownOnly,
	}
	t.old.Series = append(t.old.Series, seriesOf(m, f, from.old))
	t.new.Series = append(t.new.Series, seriesOf(m, f, from.new))
}

func seriesOf(m stat.Metric, f figure, from []Start) stat.Series {
	s := stat.Series{Metric: m, Messages: 1}
	for _, one := range from {
		s.Values = append(s.Values, f.value(one))
	}
	s.Figure = stat.Median(s.Values)
	if m.ByRange && len(s.Values) > 0 {
		s.Figure.Median = slices.Min(s.Values)
	}
	return s
}

// Compare judges both commands by what was counted and timed so far. Unless the user names figures,
// the CPU time decides. If the clock of CPU time is too coarse, the elapsed time decides. If
// nothing was timed, the counts decide.
func (p *Programs) Compare(o stat.CompareOptions) (*stat.Comparison, error) {
	var t table
	t.old.Name = p.OldName
	t.new.Name = p.NewName
	newFails := p.newFails() && !p.MayDiffer
	doubt := p.whyNotJudged()
	isTimed := len(p.timed.old) > 0 // if so, what was counted is only shown
	different := p.whyDifferent()
	isOther := different != "" && !p.MayDiffer
	isUnfit := isOther || doubt != ""
	if p.counted.isCounted() {
		for _, f := range countFigures {
			t.add(f, p.counted, isTimed || isUnfit)
		}
	}
	if len(p.underValgrind.old) > 0 {
		t.add(instructions, p.underValgrind, isTimed || isUnfit)
	}
	isCoarse := isTimed && p.timed.isCoarse()
	if isTimed && !isCoarse {
		t.add(cpuTime, p.timed, false)
	}
	if isTimed {
		t.add(elapsed, p.timed, !isCoarse)
	}
	c := stat.CompareTextPairs(t.old, t.new, o)
	c.Pairs = len(p.timed.old)
	c.Doubt = doubt
	switch {
	case newFails:
		c.NewFails = true
		c.Doubt = "the new one fails: " + different
	case isOther:
		c.Different = different + ": --allow-different-output compares them all the same"
	default:
		c.Different = different
		c.Calls = causes(c)
	}
	if isCoarse {
		c.Notes = append(c.Notes, "this system's clock of CPU time is too coarse for so short a "+
			"command: the time that passed decides")
	}
	if p.counted.hasWoken {
		c.Notes = append(c.Notes, "left out: calls of 8 B that came and went from start to start, "+
			"with which a runtime (as Go's) wakes itself")
	}
	if len(p.counted.old) > 0 && !p.counted.isCounted() {
		c.Notes = append(c.Notes, "counts of calls are unsupported: this system has none")
	}
	return c, nil
}

// isCounted reports whether the system counted the calls of every start.
func (s *starts) isCounted() bool {
	isUncounted := func(one Start) bool { return !one.Counted }
	return len(s.old) > 0 && !slices.ContainsFunc(slices.Concat(s.old, s.new), isUncounted)
}

// isCoarse reports whether the clock of CPU time ticks too slowly. It does if a start of a command
// took no CPU time, or if too many of the first starts took the same time.
func (s *starts) isCoarse() bool {
	isUnknown := func(one Start) bool { return one.CPU <= 0 }
	if slices.ContainsFunc(slices.Concat(s.old, s.new), isUnknown) {
		return true
	}
	if len(s.old) < stat.LeastPairs {
		return false
	}
	different := make(map[float64]bool)
	for _, one := range slices.Concat(s.old[:stat.LeastPairs], s.new[:stat.LeastPairs]) {
		different[one.CPU] = true
	}
	return len(different) <= stat.LeastPairs
}

// causes says how the reads and writes of the new command differ: "16 reads instead of 256". The
// text is "" if no change is certain.
func causes(c *stat.Comparison) string {
	var parts []string
	for _, change := range c.Changes {
		isCall := change.Metric == reads.name || change.Metric == writes.name
		if isCall && change.Established() {
			call := strings.TrimSuffix(change.Metric, "s")
			new := results.FormatCount(int(change.New.Median), call)
			old := results.FormatGrouped(int64(change.Old.Median))
			parts = append(parts, new+" instead of "+old)
		}
	}
	return strings.Join(parts, ", and ")
}
