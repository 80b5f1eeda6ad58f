package stat

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
)

// An Assert is a condition on figures, "p99<50ms@64KiB": a metric, one of < <= > >=, a value in the
// metric's unit, and after @ which cases it is about: a message size, field=value of a [Cell], or
// both, with commas between. Without @ it is about all that have the metric: what is said of
// latency is not about streams without a rate.
//
//	p99<50ms@64KiB                 latency at one size
//	goodput>=1.5GB/s@framing=raw   payload bytes a second of the raw cells
//	overhead<=1%                   wire bytes beyond the payload, everywhere
//	to-raw>0.9@64KiB,placement=same
//	slope<1.2                      how time grows with size: 1 is linear
//	limit>=1MiB                    largest message that a target takes
type Assert struct {
	Text   string // as it was given
	Metric string
	Op     string // "<", "<=", ">", ">="
	Value  float64
	Size   int64               // message bytes; negative: every size
	Where  []results.FieldText // what else the cells must have

	kind assertKind
}

// An assertKind is what a name on the left of an assertion stands for.
type assertKind struct {
	unit string
	of   func(*results.Set) []AssertCase // with Known or Why, not judged yet
}

// AssertOutcome is how an assertion turned out.
type AssertOutcome string

// The outcomes of an assertion. What the samples do not carry is never a pass.
const (
	Holds      AssertOutcome = "holds"
	Fails      AssertOutcome = "fails"
	CannotTell AssertOutcome = "cannot tell"
)

// An Assertion is an [Assert] judged.
type Assertion struct {
	Assert  string        `json:"assert"`
	Outcome AssertOutcome `json:"outcome"`
	Cases   []AssertCase  `json:"cases,omitempty"`
	Why     string        `json:"why,omitempty"` // of an outcome that is not "holds"
}

// String returns the assertion and how it turned out, in a line.
func (a Assertion) String() string {
	if a.Outcome == Holds {
		return fmt.Sprintf("%s: %s (cases: %d)", a.Assert, a.Outcome, len(a.Cases))
	}
	return fmt.Sprintf("%s: %s: %s", a.Assert, a.Outcome, a.Why)
}

// An AssertCase is one figure that an assertion is about.
type AssertCase struct {
	Case    string        `json:"case"`
	Value   string        `json:"value,omitempty"` // with its unit
	Outcome AssertOutcome `json:"outcome"`
	Why     string        `json:"why,omitempty"`

	cell  results.Cell
	known bool
	least bool   // the true value is this or more
	doubt string // why a value that is too large may be so by chance; "" where it is not
	value float64
}

// ParseAssert reads an assertion. An error says what is wrong and what is known.
func ParseAssert(text string) (Assert, error) {
	a := Assert{Text: strings.TrimSpace(text), Size: -1}
	if err := a.parse(); err != nil {
		return a, fmt.Errorf("assertion %q: %w", text, err)
	}
	return a, nil
}

func (a *Assert) parse() error {
	form := regexp.MustCompile(`^\s*([a-z0-9.-]+)\s*(<=|>=|<|>)\s*([^@]+?)\s*(?:@\s*(.+?)\s*)?$`)
	m := form.FindStringSubmatch(a.Text)
	if m == nil {
		return errors.New("want METRIC<VALUE[@SIZE], such as p99<50ms@64KiB; comparisons are <, <=, > and >=")
	}
	a.Metric, a.Op = m[1], m[2]
	var err error
	if a.kind, err = assertKindOf(a.Metric); err != nil {
		return err
	}
	if a.Value, err = parseQuantity(m[3], a.kind.unit); err != nil || m[4] == "" {
		return err
	}
	for part := range strings.SplitSeq(m[4], ",") {
		name, value, isField := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case isField && !slices.Contains(results.CellFieldNames(), name):
			return fmt.Errorf("a cell has no field %q; it has %s", name, strings.Join(results.CellFieldNames(), ", "))
		case isField:
			a.Where = append(a.Where, results.FieldText{Name: name, Text: value})
		default:
			if a.Size, err = results.ParseSize(part); err != nil {
				return err
			}
		}
	}
	if a.Metric == "slope" && a.Size >= 0 {
		return errors.New("a slope is over all sizes; leave out the one after @")
	}
	return nil
}

// assertKinds are those that are no metrics.
var assertKinds = map[string]assertKind{
	"limit": {"B", limitCases}, "slope": {"", slopeCases}, "to-raw": {"", toRawCases},
	results.CheckFails: {"", checkCases(results.CheckFails)}, results.CheckSlow: {"", checkCases(results.CheckSlow)},
	results.CheckCannotTell: {"", checkCases(results.CheckCannotTell)},
}

// assertKindOf finds what a name stands for.
func assertKindOf(name string) (assertKind, error) {
	if kind, ok := assertKinds[name]; ok {
		return kind, nil
	}
	m, err := MetricByName(name)
	if err != nil {
		return assertKind{}, fmt.Errorf("%w, limit, slope, to-raw; of check fails, slow, cannot-tell", err)
	}
	return assertKind{m.Unit, func(s *results.Set) []AssertCase { return metricCases(s, m) }}, nil
}

// quantities are the units that a value may have, by the unit of the metric, and what to write.
var quantities = map[string]struct {
	units map[string]float64
	want  string
}{
	"B/s":   {map[string]float64{"GB/s": 1e9, "MB/s": 1e6, "kB/s": 1e3, "B/s": 1}, "1.5GB/s or 800MB/s (decimal)"},
	"%":     {map[string]float64{"%": 1}, "a percentage such as 1.5%"},
	"msg/s": {map[string]float64{"/s": 1, "": 1}, "messages a second such as 20000 or 20000/s"},
	"":      {map[string]float64{"": 1}, "a plain number"},
}

// parseQuantity reads a value with its unit into the base unit.
func parseQuantity(text, unit string) (float64, error) {
	switch unit {
	case "ns", "ns/MiB":
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("value %q: want a duration such as 50ms or 7.5us", text)
		}
		return float64(d), nil
	case "B":
		n, err := results.ParseSize(text)
		return float64(n), err
	}
	q := quantities[unit]
	form := regexp.MustCompile(`^([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*(\S*)$`)
	if m := form.FindStringSubmatch(text); m != nil {
		scale, ok := q.units[m[2]]
		if n, err := strconv.ParseFloat(m[1], 64); ok && err == nil {
			return n * scale, nil
		}
	}
	return 0, fmt.Errorf("value %q: want %s", text, q.want)
}

// Evaluate judges the assertion on every case of the set that it is about. Medians are judged;
// percentiles are those of all samples together. It fails if any case fails; it cannot be told if a
// case cannot, or if there is none.
func (a Assert) Evaluate(s *results.Set) Assertion {
	out := Assertion{Assert: a.Text, Outcome: Holds}
	for _, c := range a.kind.of(s) {
		without := func(f results.FieldText) bool { return c.cell.Field(f.Name) != f.Text }
		if (a.Size < 0 || int64(c.cell.Size) == a.Size) && !slices.ContainsFunc(a.Where, without) {
			out.Cases = append(out.Cases, a.judge(c))
		}
	}
	if len(out.Cases) == 0 {
		out.Outcome, out.Why = CannotTell, "no case of it was measured"
	}
	for _, c := range out.Cases {
		if c.Outcome == Fails && out.Outcome != Fails || c.Outcome == CannotTell && out.Outcome == Holds {
			out.Outcome, out.Why = c.Outcome, c.Case+": "+strings.TrimSpace(c.Value+" "+c.Why)
		}
	}
	return out
}

func (a Assert) judge(c AssertCase) AssertCase {
	if !c.known {
		c.Outcome = CannotTell
		return c
	}
	if c.Value == "" {
		c.Value = results.FormatUnit(c.value, a.kind.unit)
	}
	holds := map[string]bool{"<": c.value < a.Value, "<=": c.value <= a.Value, ">": c.value > a.Value, ">=": c.value >= a.Value}[a.Op]
	c.Outcome = map[bool]AssertOutcome{true: Holds, false: Fails}[holds]
	upward := a.Op[0] == '>'
	if c.least {
		c.Value += " or more"
		if upward != holds { // what is above may still turn it
			c.Outcome, c.Why = CannotTell, "it was not searched further"
		}
	}
	if c.doubt != "" && !holds && !upward {
		c.Outcome, c.Why = CannotTell, c.doubt
	}
	return c
}

// Observations returns how many observations a figure takes that is a percentile, of one cell; 0
// for any other.
func (a Assert) Observations() int64 {
	for name, percentile := range map[string]float64{"p50": 50, "p90": 90, "p99": 99, "p99.9": 99.9} {
		if a.Metric == name || strings.HasSuffix(a.Metric, "."+name) {
			return int64(math.Round(results.MinTailCount * 100 / (100 - percentile)))
		}
	}
	return 0
}

// An assertRow is a row that assertions can be about: of a cell, of a tuned chunk size or of a
// target's messages of one size.
type assertRow struct {
	Row
	name string
}

// assertRows returns all of the set's samples, case by case.
func assertRows(s *results.Set) []assertRow {
	out := cellRows(s)
	for _, t := range s.Targets {
		if len(t.Samples) > 0 {
			name := fmt.Sprintf("%s %s", strings.Join(t.Command, " "), results.FormatSize(t.Size))
			out = append(out, assertRow{SampleRow(s.Machine(t.Run), targetCell(t), t.Samples), name})
		}
	}
	return out
}

// cellRows returns those of cells, measured or tuned.
func cellRows(s *results.Set) []assertRow {
	rows := Rows(s)
	cells := Map(rows, func(r Row) results.Cell { return r.Cell })
	differ := results.DifferingFields(cells, "framing", "size", "placement", "pattern")
	out := Map(rows, func(r Row) assertRow { return assertRow{r, results.CellLabel(r.Cell, differ)} })
	for _, u := range TuneMeasurements(s).Records {
		out = append(out, assertRow{SampleRow(s.Machine(u.Run), u.Cell, u.Samples), results.CellLabel(u.Cell, nil)})
	}
	return out
}

// targetCell stands for a target among cells: what it speaks is its framing.
func targetCell(t results.Target) results.Cell {
	return results.Cell{Framing: t.Protocol, Size: int(t.Size), Pattern: results.PatternRoundtrip, Messages: strings.Join(t.Command, " ")}
}

// judged returns the case of a row's figure, or of none with the row's reason, or else the given
// one.
func (r assertRow) judged(v float64, ok bool, why string) AssertCase {
	switch {
	case ok:
		why = ""
	case r.Unsupported != "":
		why = "unsupported: " + r.Unsupported
	case r.Failed != "":
		why = "failed: " + r.Failed
	case r.Samples == 0:
		why = "no samples"
	}
	return AssertCase{Case: r.name, Why: why, cell: r.Cell, known: ok, value: v}
}

func metricCases(s *results.Set, m Metric) []AssertCase {
	var out []AssertCase
	for _, r := range assertRows(s) {
		if v, ok := r.Figure(m.Name); ok || m.quantile == "" || r.hasLatency() {
			out = append(out, r.judged(v, ok, "the samples do not carry it"))
		}
	}
	return out
}

// hasLatency reports whether a row's messages have a latency each, or would have: in a stream
// without a rate nobody waits for a single one, so that what is said of latency is not said of it.
func (r assertRow) hasLatency() bool {
	if r.Samples == 0 {
		return r.Cell.Pattern == results.PatternRoundtrip || r.Cell.Rate > 0
	}
	_, ok := primaryLatency(r.Latency)
	return ok
}

// Figure returns a row's figure: a median, or a percentile of all its samples.
func (r Row) Figure(metric string) (float64, bool) {
	key, name, keyed := strings.Cut(metric, ".")
	if !keyed || metric == "p99.9" {
		key, name = "", metric
		key, _ = primaryLatency(r.Latency)
	}
	if slices.Contains(results.Quantiles, name) {
		ns := r.Latency[key].Quantile(name)
		return float64(*cmp.Or(ns, new(int64))), ns != nil
	}
	e, ok := r.Estimates[metric]
	return e.Median, ok
}

// checkCases count the checks of a verdict.
func checkCases(verdict string) func(*results.Set) []AssertCase {
	return func(s *results.Set) []AssertCase {
		checks := s.FindingsOf(results.AreaCheck)
		if len(checks) == 0 {
			return nil
		}
		n := 0
		for _, f := range checks {
			if string(f.Verdict) == verdict {
				n++
			}
		}
		return []AssertCase{{Case: "checks", known: true, value: float64(n)}}
	}
}

func toRawCases(s *results.Set) []AssertCase {
	var out []AssertCase
	for _, r := range assertRows(s) {
		if r.ToRaw != nil {
			out = append(out, r.judged(r.ToRaw.Median, true, ""))
		} else if r.Cell.Framing != results.FramingRaw {
			out = append(out, r.judged(0, false, "no raw cell beside it"))
		}
	}
	return out
}

// slopeCases returns how the time of a message grows with its size, a case for each series of sizes
// and for each growth that was found of a server.
func slopeCases(s *results.Set) []AssertCase {
	var out []AssertCase
	for _, rows := range GroupBy(cellRows(s), func(r assertRow) RowID {
		r.Cell.Size = 0
		return RowID{r.Machine, r.Cell}
	}) {
		c := rows[0].Cell
		c.Size = 0
		slope := AssertCase{Case: strings.TrimSpace(strings.Join([]string{c.Framing, c.Pattern, c.Placement}, " ")), cell: c}
		var sizes, times []float64
		for _, r := range rows {
			if e, ok := r.Estimates["time"]; ok {
				sizes, times = append(sizes, float64(r.Cell.Size)), append(times, e.Median)
			}
		}
		if g, err := FitGrowth(sizes, times); err != nil {
			slope.Why = err.Error()
		} else {
			slope.known, slope.value = true, g.Slope
		}
		out = append(out, slope)
	}
	return append(out, serverSlopes(s)...)
}
