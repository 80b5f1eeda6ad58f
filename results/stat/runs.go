package stat

import "github.com/pipebench/pipebench/results"

// RunsDiffer is the warning about a cell whose runs differ beyond the noise.
const RunsDiffer = "runs differ beyond the noise: no run has this figure"

// compareRuns compares the runs of a machine as if each were a machine, and sets RunsDiffer in the
// figures in which they differ. A run with a single start of the worker processes is left out: the
// next start may differ by chance.
func (m *Member) compareRuns(runs []Member) {
	found := differences(runs, func(results.Cell) bool { return true })
	if len(found) == 0 {
		return
	}
	markOddRaw(runs, found)
	m.Differing = runs
	m.Disagreement = found
	for i := range m.Figures {
		f := &m.Figures[i]
		for _, d := range found {
			f.RunsDiffer = f.RunsDiffer || d.isOf(f.Cell)
		}
	}
}

// isOf reports whether the difference changes what is compared in a cell.
func (d Difference) isOf(c results.Cell) bool {
	for _, own := range d.Cells {
		framing := own.Framing
		own.Framing = c.Framing
		isChanged := framing == c.Framing || framing == results.FramingRaw ||
			framing == "" && c.Framing == results.FramingRaw
		if own == c && isChanged {
			return true
		}
	}
	return false
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
