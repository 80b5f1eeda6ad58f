package stat

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A Fleet sums up what many machines measured and found. Lines can be added in any order: it only
// decides the order of the machines. A Fleet needs a tenth of the memory of the records.
type Fleet struct {
	runs  []*fleetRun          // in the order in which their first lines came
	named map[string]*fleetRun // the same runs by name
	cells []results.Cell       // in which machines are compared
	index map[results.Cell]int // by cell: the index in cells
	// streams has the indices in cells by the cell without its framing.
	streams map[results.Cell][]int
	texts   map[string]string // one copy of each text, because lines repeat the same texts
}

// A fleetRun is what the fleet keeps of a run.
type fleetRun struct {
	environment results.Environment
	samples     map[int][]observation // by index in Fleet.cells
	answers     []results.Finding     // see Member
	failures    []string
	warnings    []Warning
	doubtful    []results.Cell // see Member
	cells       int            // number of records, whether the fleet keeps their samples or not
	messages    int
}

// AreaServer begins the ID of an answer about a server that the command pipebench drive put under
// load.
const AreaServer = "server"

// CutShort is the Found of an answer about a server if there was no time to find the exact limit.
const CutShort = "search cut short"

// A Warning is about one cell.
type Warning struct {
	ID    string // the words by which it is known, such as "load"
	Found string // without the advice
}

// NewFleet returns a fleet without machines.
func NewFleet() *Fleet {
	return &Fleet{
		named: make(map[string]*fleetRun),
		index: make(map[results.Cell]int),
		texts: make(map[string]string),

		streams: make(map[results.Cell][]int),
	}
}

// FleetOf returns the fleet of the machines in a set.
func FleetOf(s *results.Set) *Fleet {
	f := NewFleet()
	addAll(f, s.Environments)
	addAll(f, s.Records)
	addAll(f, s.Findings)
	addAll(f, s.Targets)
	addAll(f, s.Messages)
	return f
}

func addAll[L results.Line](f *Fleet, lines []L) {
	for _, line := range lines {
		f.Add(line)
	}
}

// Add adds one line to the fleet.
func (f *Fleet) Add(line results.Line) {
	run := f.run(results.RunOf(line))
	switch l := line.(type) {
	case results.Environment:
		run.environment = l
	case results.Record:
		f.addRecord(run, l)
	case results.Finding:
		f.addFinding(run, l)
	case results.Target:
		f.addTarget(run, l)
	case results.Message:
		run.messages++
	}
}

func (f *Fleet) run(name string) *fleetRun {
	run := f.named[name]
	if run == nil {
		run = &fleetRun{
			environment: results.Environment{Run: name},
			samples:     make(map[int][]observation),
		}
		f.named[name] = run
		f.runs = append(f.runs, run)
	}
	return run
}

// once returns the one copy that is kept of each text. This saves memory.
func (f *Fleet) once(text string) string {
	known, ok := f.texts[text]
	if !ok {
		known = strings.Clone(text)
		f.texts[known] = known
	}
	return known
}

func (f *Fleet) addRecord(run *fleetRun, r results.Record) {
	run.cells++
	if r.Failed != "" {
		run.failures = append(run.failures, f.once(r.Failed))
	}
	for _, warning := range r.Warnings {
		id, _, _ := strings.Cut(warning, ": ")
		found := f.once(WithoutAdvice(warning))
		run.warnings = append(run.warnings, Warning{f.once(id), found})
		if id == TwoClusters && r.Cell.Framing == results.FramingRaw {
			run.doubtful = append(run.doubtful, r.Cell)
		}
	}
	if len(r.Samples) == 0 || Incomparable(r.Cell) {
		return
	}
	at, known := f.index[r.Cell]
	if !known {
		at = len(f.cells)
		f.index[r.Cell] = at
		f.cells = append(f.cells, r.Cell)
		stream := r.Cell
		stream.Framing = ""
		f.streams[stream] = append(f.streams[stream], at)
	}
	r.Run = run.environment.Run // one copy of the text for all observations
	samples := RelativeMetric(r.Cell).observations([]results.Record{r})
	run.samples[at] = append(run.samples[at], samples...)
}

// WithoutAdvice returns what a warning in [results.Record] has found. A warning is "found: advice",
// "found; advice" or, of a fault of the machine, "name: found; advice".
func WithoutAdvice(warning string) string {
	found, rest, _ := strings.Cut(warning, ": ")
	if isName := !strings.Contains(found, " "); isName && rest != "" {
		found = rest
	}
	found, _, _ = strings.Cut(found, "; ")
	return found
}

func (f *Fleet) addFinding(run *fleetRun, found results.Finding) {
	a := results.Finding{
		ID:      f.once(found.ID),
		Verdict: results.Verdict(f.once(string(found.Verdict))),
		Class:   f.once(found.Class),
		Unit:    f.once(found.Unit),
	}
	if len(found.About) > 0 {
		a.About = []string{f.once(strings.Join(found.About, " "))}
	}
	switch v := found.Value.(type) {
	case nil, bool, float64:
		a.Value = v
	default:
		a.Value = f.once(fmt.Sprint(v))
	}
	if a.Area() == results.AreaClaim || a.Area() == results.AreaFailure {
		a.Title = f.once(found.Title)
	}
	if a.Area() == results.AreaMachine || a.Verdict == results.Fails {
		a.Found = f.once(found.Found)
	}
	run.answers = append(run.answers, a)
}

// tellsMore reports whether the first of two answers about a server tells more. An answer with a
// limit tells more than one without, and a smaller limit tells more than a larger one.
func tellsMore(a, other results.Finding) bool {
	limit, known := a.Value.(float64)
	otherLimit, otherKnown := other.Value.(float64)
	switch {
	case known && otherKnown:
		return limit < otherLimit
	case known != otherKnown:
		return known
	}
	return a.Verdict == results.VerdictNotTried // of two without a limit
}

// addTarget keeps one answer for each server and run: the one with the worst verdict. Of two
// answers with equal verdicts, it keeps the one that tells more.
func (f *Fleet) addTarget(run *fleetRun, t results.Target) {
	if t.Evidence.Traffic != nil {
		return // how a recorded server ended belongs to the recording
	}
	a := results.Finding{
		ID:      AreaServer + "/" + f.once(strings.Join(t.Command, " ")),
		Verdict: results.Verdict(t.Verdict),
	}
	if limit := cmp.Or(t.RequestLimit, t.ReplyLimit); limit != nil {
		a.Value = float64(*limit)
		a.Unit = "B"
	}
	if e := t.Evidence.Limit; e != nil && e.CutShort {
		a.Found = CutShort
	}
	for i, other := range run.answers {
		if other.ID != a.ID {
			continue
		}
		before, _ := severity(string(other.Verdict))
		now, _ := severity(t.Verdict)
		if now > before || now == before && tellsMore(a, other) {
			run.answers[i] = a
		}
		return
	}
	run.answers = append(run.answers, a)
}

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

	OddRaw     bool // raw is not as on most machines: ratios to it say nothing about a framing
	RunsDiffer bool // beyond the noise, so that no run has this figure

	steady Estimate // Speed without the phases in which all framings were slower or faster
}

// Compared returns the estimate by which machines are compared: the ratio to the framing raw or,
// for raw itself, the speed. Its N is 0 if there is none, or if no run has this figure.
func (f Figure) Compared() Estimate {
	switch {
	case f.RunsDiffer:
		return Estimate{}
	case f.Cell.Framing == results.FramingRaw:
		return f.Speed
	case f.OddRaw:
		return Estimate{}
	}
	return f.ToRaw
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
	for _, id := range machines {
		members = append(members, f.member(byMachine[id]))
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

// member sums up the runs of one machine. Its figures are in the order in which tables show the
// cells.
func (f *Fleet) member(runs []*fleetRun) Member {
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
	for at := range f.cells {
		if len(samples[at]) > 0 {
			m.Figures = append(m.Figures, f.figure(at, samples))
		}
	}
	slices.SortFunc(m.Figures, func(a, b Figure) int { return compareCells(a.Cell, b.Cell) })
	if len(runs) > 1 {
		var each []Member
		for _, run := range runs {
			if run.starts() > 1 {
				each = append(each, f.member([]*fleetRun{run}))
			}
		}
		m.compareRuns(each)
	}
	return m
}

// starts returns how many starts of the worker processes a run has at most in one cell.
func (run *fleetRun) starts() int {
	most := 0
	for _, own := range run.samples {
		forks := make(map[forkID]bool)
		for _, o := range own {
			forks[o.moment.fork] = true
		}
		most = max(most, len(forks))
	}
	return most
}

// figure computes the figure of one machine for f.cells[at]. The map has the machine's samples, by
// the index in f.cells.
func (f *Fleet) figure(at int, samples map[int][]observation) Figure {
	cell := f.cells[at]
	own := samples[at]
	sortObservations(own)
	figure := Figure{Cell: cell, Speed: estimate(own), steady: estimate(f.steady(at, samples))}
	beside := cell
	beside.Framing = results.FramingRaw
	raw, measured := f.index[beside]
	if measured && cell.Framing != results.FramingRaw {
		figure.ToRaw = estimate(ratiosOf(own, samples[raw]))
	}
	return figure
}

// steady returns the samples of f.cells[at] without the phases in which the other framings were
// slower or faster, too.
func (f *Fleet) steady(at int, samples map[int][]observation) []observation {
	stream := f.cells[at]
	stream.Framing = ""
	phases := make(map[moment][]float64) // what each of the other framings was, relative to usual
	for _, other := range f.streams[stream] {
		if other == at || len(samples[other]) == 0 {
			continue
		}
		usual := medianOf(valuesOf(samples[other]))
		for _, o := range samples[other] {
			phases[o.moment] = append(phases[o.moment], o.value/usual)
		}
	}
	var steady []observation
	for _, o := range samples[at] {
		if all := phases[o.moment]; len(all) > 0 {
			o.value /= medianOf(all)
		}
		steady = append(steady, o)
	}
	return steady
}

// sortObservations puts observations in an order that does not depend on the order of the lines in
// the files.
func sortObservations(all []observation) {
	slices.SortFunc(all, func(a, b observation) int {
		return cmp.Or(cmp.Compare(a.moment.fork.run, b.moment.fork.run),
			cmp.Compare(a.moment.fork.number, b.moment.fork.number),
			cmp.Compare(a.moment.round, b.moment.round),
			cmp.Compare(a.value, b.value))
	})
}
