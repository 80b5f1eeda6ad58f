package stat

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A Member is one machine of a fleet.
type Member struct {
	Name     string                // short, and different from the names of all other members
	Runs     []results.Environment // the run with the most cells comes first
	Cells    int                   // number of records of cells in all runs
	Figures  []Figure
	Answers  []results.Finding // the newest for each ID and command, without the evidence
	Earlier  []results.Finding // those that newer ones replace
	Failures []string          // one for each failed measurement
	Warnings []Warning
	Doubtful []results.Cell // of raw: with samples in two clusters
	Messages int

	Disagreement []Difference // of its runs, as indices of Differing
	Differing    []Member     // one for each run, if they disagree
}

// Environment returns the environment of the run that measured most cells.
func (m Member) Environment() results.Environment { return m.Runs[0] }

// A Figure is the speed of one combination of settings on a machine, and the ratio to the speed of
// raw, the framing that adds nothing.
type Figure struct {
	Cell  results.Cell
	Speed Estimate // goodput, or the time of a round trip
	ToRaw Estimate // its N is 0 for raw itself, and if raw was not measured

	OddRaw     bool // raw is apart from that of most machines: ratios say nothing of a framing
	RunsDiffer bool // beyond the noise, so that no run has this figure
}

// Compared returns the estimate by which machines are compared: the ratio to the framing raw or,
// for raw itself, the speed. Its N is 0 if there is none, or if no run has this figure.
func (f Figure) Compared() Estimate {
	isRaw := f.Cell.Framing == results.FramingRaw
	switch {
	case f.RunsDiffer, f.OddRaw && !isRaw:
		return Estimate{}
	case isRaw:
		return f.Speed
	}
	return f.ToRaw
}

// HasOddRaw reports whether OddRaw is set in at least one figure.
func (m Member) HasOddRaw() bool {
	return slices.ContainsFunc(m.Figures, func(f Figure) bool { return f.OddRaw })
}

// Members sums up each machine. The machines stand in the order in which their first lines were
// added, as the files on a command line.
func (f *Fleet) Members() []Member {
	byMachine := make(map[string][]*fleetRun)
	var machines []string
	for _, run := range f.runs {
		id := run.environment.Node()
		if byMachine[id] == nil {
			machines = append(machines, id)
		}
		byMachine[id] = append(byMachine[id], run)
	}
	var members []Member
	order := f.order()
	for _, id := range machines {
		members = append(members, f.member(byMachine[id], order))
	}
	var runs []results.Environment
	for _, m := range members {
		runs = append(runs, m.Environment())
	}
	names := results.MachineNames(runs)
	for i, e := range runs {
		members[i].Name = names[e.Node()]
	}
	markOddRaw(members, Differences(members))
	return members
}

// order returns the indices of f.cells in the order in which tables show the cells.
func (f *Fleet) order() []int {
	var order []int
	for at := range f.cells {
		order = append(order, at)
	}
	slices.SortFunc(order, func(a, b int) int { return compareCells(f.cells[a], f.cells[b]) })
	return order
}

// member sums up the runs of one machine. Its figures are in the given order, a list of indices of
// f.cells.
func (f *Fleet) member(runs []*fleetRun, order []int) Member {
	slices.SortFunc(runs, func(a, b *fleetRun) int {
		return cmp.Or(a.environment.Time.Compare(b.environment.Time),
			cmp.Compare(a.environment.Run, b.environment.Run))
	})
	var m Member
	answers := make(map[string]results.Finding) // by ID and command
	samples := make(map[int][]observation)
	for _, run := range runs {
		m.Cells += run.cells
		m.Messages += run.messages
		m.Failures = append(m.Failures, run.failures...)
		m.Warnings = append(m.Warnings, run.warnings...)
		m.Doubtful = append(m.Doubtful, run.doubtful...)
		for _, a := range run.answers {
			id := a.ID + "\n" + strings.Join(a.About, " ")
			if old, known := answers[id]; known {
				m.Earlier = append(m.Earlier, old)
			}
			answers[id] = a
		}
		for cell, own := range run.samples {
			samples[cell] = append(samples[cell], own...)
		}
	}
	slices.SortStableFunc(runs, func(a, b *fleetRun) int { return cmp.Compare(b.cells, a.cells) })
	for _, run := range runs {
		m.Runs = append(m.Runs, run.environment)
	}
	slices.Sort(m.Failures)
	slices.SortFunc(m.Warnings, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Found, b.Found))
	})
	slices.SortFunc(m.Doubtful, compareCells)
	m.Doubtful = slices.Compact(m.Doubtful)
	for _, id := range slices.Sorted(maps.Keys(answers)) {
		m.Answers = append(m.Answers, answers[id])
	}
	for _, at := range order {
		if len(samples[at]) > 0 {
			m.Figures = append(m.Figures, f.figure(at, samples))
		}
	}
	if len(runs) > 1 {
		var each []Member
		for _, run := range runs {
			if run.isRestarted() {
				each = append(each, f.member([]*fleetRun{run}, order))
			}
		}
		m.compareRuns(each)
	}
	return m
}

// isRestarted reports whether a run started the worker processes more than once.
func (run *fleetRun) isRestarted() bool {
	for _, own := range run.samples {
		if slices.ContainsFunc(own, func(o observation) bool { return o.moment.fork.number != 1 }) {
			return true
		}
	}
	return false
}

// figure computes the figure of one machine for f.cells[at]. The map has the machine's samples, by
// the index in f.cells.
func (f *Fleet) figure(at int, samples map[int][]observation) Figure {
	cell := f.cells[at]
	own := samples[at]
	sortObservations(own)
	figure := Figure{Cell: cell, Speed: estimate(own)}
	beside := cell
	beside.Framing = results.FramingRaw
	raw, measured := f.index[beside]
	if measured && cell.Framing != results.FramingRaw {
		figure.ToRaw = estimate(ratiosOf(own, samples[raw]))
	}
	return figure
}
