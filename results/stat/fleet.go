package stat

import (
	"cmp"
	"fmt"
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
	texts map[string]string    // one copy of each text, because lines repeat the same texts
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
	if r.Stopped == "interrupted" {
		run.warnings = append(run.warnings, Warning{r.Stopped, "the run was interrupted"})
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
