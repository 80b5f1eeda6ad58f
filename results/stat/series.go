package stat

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"github.com/pipebench/pipebench/results"
)

// A Series is one metric of one case, sample by sample, from a results file or from Go benchmark
// text.
type Series struct {
	Name     string        `json:"name"`           // as in Go benchmark text, without "Benchmark"
	Cell     *results.Cell `json:"cell,omitempty"` // nil of Go benchmark text
	Metric   Metric        `json:"-"`
	Machine  string        `json:"machine"`
	Values   []float64     `json:"values"`
	Figure   Estimate      `json:"-"`        // of the values
	Messages int64         `json:"messages"` // the fewest that a value rests on

	Disturbed bool `json:"disturbed,omitempty"` // others had what it needed while it was measured, as a warning says

	records []results.Record // what the values are from; nil of Go benchmark text

	Since time.Time `json:"since,omitzero"` // when the first of its records was finished; zero of Go benchmark text
	Until time.Time `json:"until,omitzero"` // when the last was
}

// Compared returns the metrics in which two measurements of a cell are compared: counters, which
// may be exact, then times. Of a stream that is its goodput, of round trips their p50 and p99; a
// latency that a stream carries too.
func Compared(c results.Cell, samples []results.Sample) []Metric {
	hasLatency := slices.ContainsFunc(samples, func(s results.Sample) bool {
		_, ok := primaryLatency(s.Latency)
		return ok
	})
	names := []string{"writer-calls", "reader-calls", "wire", "allocs"}
	if c.Pattern != results.PatternRoundtrip {
		names = append(names, "goodput")
	} else if !hasLatency {
		names = append(names, "time")
	}
	if hasLatency {
		names = append(names, "p50", "p99")
	}
	return Map(names, MustMetric)
}

// SeriesOf lists what the set holds as far as it can be compared, in the order in which views show
// it: measurements, and what was found of servers and programs.
func SeriesOf(s *results.Set) []Series {
	out := judgedSeries(s)
	rows := rowsOf(s)
	sortRows(rows)
	for _, r := range rows {
		samples, name := r.Pooled(), BenchName(r.Cell)
		for _, m := range Compared(r.Cell, samples) {
			one := Series{Name: name, Cell: new(r.Cell), Metric: m, Machine: r.Machine, Values: m.Values(samples), records: r.Records}
			one.Figure = m.Estimate(r.Records...)
			if one.Figure.N == 0 {
				continue
			}
			if m.quantile != "" { // no sample has a percentile of its own
				one.Values = []float64{one.Figure.Median}
			}
			byTime := func(a, b results.Record) int { return a.Time.Compare(b.Time) }
			one.Since, one.Until = slices.MinFunc(r.Records, byTime).Time, slices.MaxFunc(r.Records, byTime).Time
			one.Messages = slices.Min(Map(samples, func(s results.Sample) int64 { return s.Messages }))
			one.Disturbed = one.Figure.Disturbed || slices.ContainsFunc(r.Records, func(rec results.Record) bool { return rec.Disturbed })
			out = append(out, one)
		}
	}
	return out
}

// A Dataset is one of the two things that are compared.
type Dataset struct {
	Name     string            `json:"name"`
	Series   []Series          `json:"-"`
	Set      *results.Set      `json:"-"`                  // what the series are of; nil of Go benchmark text
	Problems []results.Problem `json:"problems,omitempty"` // what could not be read
}

// DatasetOf makes a side of a set.
func DatasetOf(name string, s *results.Set) Dataset {
	return Dataset{Name: name, Series: SeriesOf(s), Set: s, Problems: s.Problems}
}

// ReadDataset reads a results file or Go benchmark text, whichever it is; paths are those that
// [Read] takes. A file that is missing or has nothing to compare is an error.
func ReadDataset(path string) (Dataset, error) {
	name, f, err := results.Open(path)
	if err != nil {
		return Dataset{}, err
	}
	defer f.Close()
	return ReadDatasetFrom(name, f)
}

// ReadDatasetFrom does with what r gives as [ReadDataset] does with a file.
func ReadDatasetFrom(name string, r io.Reader) (Dataset, error) {
	text := bufio.NewReaderSize(r, sniffed)
	var side Dataset
	var err error
	if looksLikeJSON(text) {
		var set *results.Set
		if set, err = results.ReadFrom(name, text); err == nil {
			side = DatasetOf(name, set)
		}
	} else {
		side, err = readBench(name, text)
	}
	if err != nil {
		return Dataset{}, err
	}
	if len(side.Series) == 0 {
		why := "no cell with samples, and nothing found of a server or program"
		if side.Set == nil {
			why = "neither records nor the text of go test -bench with a result in it"
		}
		if len(side.Problems) > 0 {
			why += "; " + side.Problems[0].String()
		}
		return Dataset{}, fmt.Errorf("read results: %s: %w: %s", name, results.ErrEmpty, why)
	}
	return side, nil
}

// sniffed is how much of a file is looked at to tell what it is, in bytes: what a login or a build
// says before it is shorter.
const sniffed = 16 << 10

// looksLikeJSON tells records from Go benchmark text by the first line that is of either. It takes
// nothing away from the reader. A blank file counts as records, whose reader says that it is blank;
// one of something else as text.
func looksLikeJSON(r *bufio.Reader) bool {
	head, _ := r.Peek(sniffed) // an error comes again, when the file is read
	blank := true
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
		switch {
		case bytes.HasPrefix(line, []byte("{")):
			return true
		case bytes.HasPrefix(line, []byte("Benchmark")), bytes.HasPrefix(line, []byte("goos: ")):
			return false
		}
		blank = blank && len(line) == 0
	}
	return blank
}

// Directions puts together the messages that went the same way, requests first.
func Directions(messages []results.Message) [][]results.Message {
	ways := GroupBy(messages, func(m results.Message) string { return m.Dir })
	slices.SortFunc(ways, func(a, b []results.Message) int { return strings.Compare(b[0].Dir, a[0].Dir) })
	return ways
}

// Replies pairs each request with the next reply of its id in the same recording. It returns the
// nanoseconds between them by method, and the requests that have none, in their order. A request is
// recorded when the write of it has returned: a server that reads it at once may have answered by
// then.
func Replies(messages []results.Message) (times map[string][]int64, unanswered []results.Message) {
	type call struct{ run, id string }
	open, early := map[call]results.Message{}, map[call]results.Message{}
	times = map[string][]int64{}
	for _, m := range messages {
		at := call{m.Run, string(m.ID)}
		switch {
		case len(m.ID) == 0:
		case m.Dir == "request" && m.Method != "":
			reply, answered := early[at]
			delete(early, at)
			if began := m.T - m.Stall; answered && reply.T >= began-results.LeastStall.Nanoseconds() {
				times[m.Method] = append(times[m.Method], max(0, reply.T-began))
				continue
			}
			open[at] = m
		case m.Dir == "reply" && m.Method == "":
			if request, ok := open[at]; ok {
				times[request.Method] = append(times[request.Method], m.T-request.T)
				delete(open, at)
			} else {
				early[at] = m
			}
		}
	}
	unanswered = slices.SortedFunc(maps.Values(open), func(a, b results.Message) int { return cmp.Compare(a.T, b.T) })
	return times, unanswered
}

// ByCount lists the methods of reply times, those with the most replies first.
func ByCount(times map[string][]int64) []string {
	return slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(times[b]), len(times[a])), cmp.Compare(a, b))
	})
}

// readBench reads Go benchmark text, as `go test -bench` prints it and [Set.WriteBench] writes it,
// into series that can be compared. Lines that are broken are problems; lines of other text are not
// benchmark results.
func readBench(name string, r io.Reader) (Dataset, error) {
	in, problems := benchfmt.NewReader(r, name), results.ProblemList{File: name}
	var single []Series // of one value each
	for in.Scan() {
		switch rec := in.Result().(type) {
		case *benchfmt.SyntaxError:
			problems.Add(rec.Line, rec.Msg+": line skipped")
		case *benchfmt.Result:
			for _, v := range rec.Values {
				value, unit := v.Value, v.Unit
				if v.OrigUnit != "" {
					value, unit = v.OrigValue, v.OrigUnit
				}
				if math.IsNaN(value) || math.IsInf(value, 0) {
					_, line := rec.Pos()
					problems.Add(line, fmt.Sprintf("%v %s is no figure: skipped", value, unit))
					continue
				}
				machine := Map([]string{"goos", "goarch", "cpu"}, rec.GetConfig) // what the text tells of it
				single = append(single, Series{
					Name: rec.Name.String(), Machine: strings.Join(Filter(machine, func(v string) bool { return v != "" }), " "),
					Metric: Metric{Name: unit}, Messages: int64(rec.Iters), Values: []float64{value},
				})
			}
		}
	}
	if err := in.Err(); err != nil {
		return Dataset{}, fmt.Errorf("read results: %s: %w", name, err)
	}
	return Dataset{Name: name, Problems: problems.All, Series: Map(GroupBy(single, Series.id), func(same []Series) Series {
		s := same[0]
		s.Values = Map(same, func(one Series) float64 { return one.Values[0] })
		s.Messages = slices.Min(Map(same, func(one Series) int64 { return one.Messages }))
		s.Metric, s.Figure = benchMetric(s.Metric.Name, in.Units()), Median(s.Values) // Unit lines may stand anywhere
		return s
	})}, nil
}

// benchMetric returns what is known of a unit of Go benchmark text.
func benchMetric(unit string, units benchfmt.UnitMetadataMap) Metric {
	m := Metric{Name: unit, Title: unit, Better: Better(units.GetBetter(unit))}
	switch {
	case unit == "ns/op" || strings.HasSuffix(unit, "-ns") || strings.HasSuffix(unit, "-ns/op"):
		m.Unit = "ns"
	case unit == "MB/s":
		m.Unit = unit
	}
	i := slices.IndexFunc(benchUnits, func(u benchUnit) bool { return u.name == unit })
	if i < 0 {
		return m
	}
	written := MustMetric(benchUnits[i].metric)
	m.Better, m.Counter, m.fixed = written.Better, written.Counter, written.fixed
	return m
}

// A benchUnit is a column of Go benchmark text. Benchstat scales only ns, MB and B, so those are
// what is written.
type benchUnit struct {
	name   string // "p99-ns"
	metric string
	scale  float64 // from the metric's base unit
	only   string  // the one pattern that has it, "" for both
	waits  bool    // blocking ends have none
	known  bool    // benchstat knows by itself which way is better
}

var benchUnits = []benchUnit{
	{name: "ns/op", metric: "time", scale: 1, known: true},
	{name: "MB/s", metric: "goodput", scale: 1e-6, only: "stream", known: true},
	{name: "p50-ns", metric: "p50", scale: 1},
	{name: "p99-ns", metric: "p99", scale: 1},
	{name: "wire-B/op", metric: "wire", scale: 1},
	{name: "calls/op", metric: "calls", scale: 1},
	{name: "cpu-ns/op", metric: "cpu-time", scale: 1},
	{name: "eagain/op", metric: "eagain", scale: 1, waits: true},
	{name: "short/op", metric: "short", scale: 1, waits: true},
	{name: "lost-B", metric: "lost", scale: 1},
	{name: "told-ns", metric: "told", scale: 1},
	{name: "allocs/op", metric: "allocs", scale: 1, known: true},
}

// is reports whether a metric has a name, or is the unit that stands for it in benchmark text.
func (m Metric) is(name string) bool {
	unit := func(u benchUnit) bool { return u.name == m.Name && u.metric == name }
	return m.Name == name || slices.ContainsFunc(benchUnits, unit)
}

// BenchUnits returns the lines that tell benchstat which way the units are better that it does not
// know: "Unit p99-ns better=lower".
func BenchUnits() []string {
	unknown := Filter(benchUnits, func(u benchUnit) bool { return !u.known })
	return Map(unknown, func(u benchUnit) string { return "Unit " + u.name + " better=lower" })
}

// BenchValues returns the figures of a sample with their units in Go benchmark text.
func BenchValues(c results.Cell, s results.Sample) []benchfmt.Value {
	var out []benchfmt.Value
	for _, u := range benchUnits {
		if u.only != "" && u.only != c.Pattern || u.waits && c.IO == "blocking" {
			continue
		}
		if v, ok := MustMetric(u.metric).Value(s); ok {
			out = append(out, benchfmt.Value{Value: RoundFigure(v * u.scale), Unit: u.name})
		}
	}
	return out
}

// A BenchLine is a line of Go benchmark text, without the name.
type BenchLine struct {
	Iters  int64
	Values []benchfmt.Value
}

// BenchLines returns a line for each sample of a record, and one with the percentiles of all its
// samples together: a sample holds too few observations for percentiles of its own.
func BenchLines(r results.Record) []BenchLine {
	var lines []BenchLine
	for _, s := range r.Samples {
		line := BenchLine{Iters: s.Messages}
		for _, v := range BenchValues(r.Cell, s) {
			if unit := benchUnitOf(v.Unit); MustMetric(unit.metric).quantile == "" {
				line.Values = append(line.Values, v)
			}
		}
		lines = append(lines, line)
	}
	all := BenchLine{}
	for _, u := range benchUnits {
		m := MustMetric(u.metric)
		if m.quantile == "" {
			continue
		}
		if e := m.Estimate(r); e.N > 0 {
			all.Values = append(all.Values, benchfmt.Value{Value: RoundFigure(e.Median * u.scale), Unit: u.name})
		}
	}
	if len(all.Values) > 0 {
		for _, s := range r.Samples {
			key, _ := primaryLatency(s.Latency)
			all.Iters += s.Latency[key].Count
		}
		lines = append(lines, all)
	}
	return lines
}

// benchUnitOf finds a unit that is written.
func benchUnitOf(name string) benchUnit {
	i := slices.IndexFunc(benchUnits, func(u benchUnit) bool { return u.name == name })
	return benchUnits[i]
}

// benchDigits are more than any clock has, and as many as wire bytes need.
const benchDigits = 10

// RoundFigure leaves out the digits that division makes up.
func RoundFigure(v float64) float64 {
	out, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', benchDigits, 64), 64) // what was just written
	return out
}

// benchDefaults are the values that a benchmark's name leaves out. They are part of the names'
// stability: a cell has one name, whatever else was run.
var benchDefaults = map[string]string{
	"pipe": "anonymous", "capacity": "0", "payload": "json",
}

// benchNamed are the fields that every name has, in this order.
var benchNamed = []string{"framing", "size", "io", "placement"}

// BenchName returns a cell's name in Go benchmark text, without "Benchmark":
// "Stream/framing=ndjson/size=65536/io=blocking/placement=same", and what is off its default after
// that, sorted. It depends on the cell alone.
func BenchName(c results.Cell) string {
	name := "Cell"
	if c.Pattern != "" {
		name = strings.ToUpper(c.Pattern[:1]) + c.Pattern[1:]
	}
	for _, named := range benchNamed {
		name += "/" + named + "=" + benchValue(c.Field(named))
	}
	for _, f := range c.Values() {
		if f.Name != "pattern" && !slices.Contains(benchNamed, f.Name) && benchDefaults[f.Name] != f.Text {
			name += "/" + f.Name + "=" + benchValue(f.Text)
		}
	}
	return name
}

var trailingNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-([0-9]+)$`) })

// benchValue writes a value so that it stays one part of a name: a slash would begin another, a
// blank or the end of a line end it, and "-8" at the end be taken for GOMAXPROCS.
func benchValue(v string) string {
	v = strings.Map(func(r rune) rune {
		switch {
		case r == '/':
			return '+'
		case unicode.IsSpace(r), unicode.IsControl(r):
			return '_'
		}
		return r
	}, v)
	return trailingNumber().ReplaceAllString(v, "_$1")
}

// BenchCase puts the side into a name, before the GOMAXPROCS that go test leaves at its end.
func BenchCase(name, side string) string {
	base := trailingNumber().ReplaceAllString(name, "")
	return base + "/side=" + side + strings.TrimPrefix(name, base)
}

// BenchUnit returns the unit that a figure has in Go benchmark text.
func (c Change) BenchUnit() (unit string, scale float64) {
	for _, u := range benchUnits {
		if u.metric == c.Metric {
			return u.name, u.scale
		}
	}
	if c.Cell == nil {
		return c.Metric, 1
	}
	return c.Metric + "/op", 1
}
