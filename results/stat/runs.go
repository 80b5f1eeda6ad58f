package stat

import (
	"math"

	"github.com/pipebench/pipebench/results"
)

// RunsDiffer is the warning about a cell whose runs differ beyond the noise.
const RunsDiffer = "runs differ beyond the noise: no run has this figure"

// A Disagreement says in which cell two runs of a machine differ most: beyond the noise, and by at
// least a tenth or, in the speed of raw, by [SlowFactor].
type Disagreement struct {
	Cell      results.Cell
	Low, High RunFigure
	Cells     int // of the framing and pattern: those in which the runs differ in the same way
	Compared  int // of the framing and pattern: those that were compared
}

// A RunFigure is the median of [Figure.Compared] in one run.
type RunFigure struct {
	Run    results.Environment
	Median float64
	log    logEstimate
}

// Ratio returns how many times the higher figure is the lower one.
func (d Disagreement) Ratio() float64 { return d.High.Median / d.Low.Median }

// compareRuns sets Disagreement, and RunsDiffer in the figures in which two runs differ. The more
// cells there are, the surer a difference has to be (Bonferroni's correction). observed has what
// the figures are made from.
func (m *Member) compareRuns(observed [][]observation) {
	all := make([]Disagreement, len(m.Figures))
	n := 0
	for i, f := range m.Figures {
		all[i] = m.disagreement(observed[i])
		all[i].Cell = f.Cell
		n += all[i].Compared
	}
	var most Disagreement
	for i, d := range all {
		least := outlierDistance
		if d.Cell.Framing == results.FramingRaw {
			least = SlowFactor
		}
		if d.Compared == 0 || d.Ratio() < least {
			continue
		}
		lo, _ := d.High.log.minus(d.Low.log).interval(DefaultAlpha / float64(n))
		m.Figures[i].RunsDiffer = lo > 0
		if lo > 0 && (most.Compared == 0 || d.Ratio() > most.Ratio()) {
			most = d
		}
	}
	if most.Compared == 0 {
		return
	}
	most.Compared = 0
	for i, d := range all {
		isSame := d.Cell.Framing == most.Cell.Framing && d.Cell.Pattern == most.Cell.Pattern
		if !isSame || d.Compared == 0 {
			continue
		}
		most.Compared++
		isAlike := d.Low.Run.Run == most.Low.Run.Run && d.High.Run.Run == most.High.Run.Run
		if isAlike && m.Figures[i].RunsDiffer {
			most.Cells++
		}
	}
	m.Disagreement = &most
}

// disagreement returns the runs that are most surely low and high in a cell, and in Compared how
// many pairs of runs there are. It leaves out runs that other programs disturbed, and those with a
// single start of the worker processes: the next start may differ by chance.
func (m *Member) disagreement(all []observation) Disagreement {
	var d Disagreement
	lowest, highest := math.Inf(1), math.Inf(-1)
	n := 0
	for _, run := range m.Runs {
		var own []observation
		for _, o := range all {
			if o.moment.fork.run == run.Run {
				own = append(own, o)
			}
		}
		log := logOf(own)
		if log.starts > 0 {
			log.n = log.starts // samples of one start are not independent
		}
		if log.n < 2 || log.disturbed > mostDisturbed {
			continue
		}
		figure := RunFigure{run, math.Exp(log.mean), log}
		lo, hi := log.interval(1 - Confidence)
		if hi < lowest {
			lowest = hi
			d.Low = figure
		}
		if lo > highest {
			highest = lo
			d.High = figure
		}
		n++
	}
	d.Compared = n * (n - 1) / 2
	return d
}

// warn adds the warning [RunsDiffer] to the machine's rows.
func (m *Member) warn(rows []Row) {
	for _, f := range m.Figures {
		if !f.RunsDiffer {
			continue
		}
		for i := range rows {
			r := &rows[i]
			if r.Cell == f.Cell && r.id == m.Environment().Node() {
				r.Warnings = append(r.Warnings, RunsDiffer)
			}
		}
	}
}
