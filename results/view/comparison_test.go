package view

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
	"github.com/pipebench/pipebench/results/stat"
)

func TestComparisonViews(t *testing.T) {
	cell, big := resultstest.Cell("ndjson", 4096), resultstest.Cell("chunked:61440", 1<<20)
	calls := resultstest.Record(big, 1<<20+782, resultstest.Around(90000, 0.01)...)
	for i := range calls.Samples {
		calls.Samples[i].Writer.Calls *= 18
	}
	raw := []results.Record{
		resultstest.Record(resultstest.Cell("raw", 4096), 4096, resultstest.Around(900, 0.01)...),
		resultstest.Record(resultstest.Cell("raw", 1<<20), 1<<20,
			resultstest.Around(80000, 0.01)...),
	}
	before := dataset("old.jsonl", append(slices.Clone(raw),
		resultstest.Record(cell, 4097, resultstest.Around(1000, 0.01)...),
		resultstest.Record(big, 1<<20+782, resultstest.Around(90000, 0.01)...),
		resultstest.Record(resultstest.Cell("raw", 1), 1, 90))...)
	files := stat.Compare(before, dataset("new.jsonl", append(slices.Clone(raw),
		resultstest.Record(cell, 4097, resultstest.Around(1200, 0.01)...), calls)...), stat.CompareOptions{})
	old, after := resultstest.Pairs(rand.New(rand.NewPCG(71, 72)), 10, 2, 1.1)
	interleaved, err := stat.ComparePairs(old, after, stat.CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		file, proves string
		c            *stat.Comparison
		format       Format
	}{
		{"compare.txt",
			"counters that changed come first; the answer comes first, then times beside raw",
			files, FormatTable},
		{"compare.md", "the same for a pull request", files, FormatMarkdown},
		{"compare.csv", "every figure, unchanged counters too", files, FormatCSV},
		{"compare.json", "the same with what it rests on", files, FormatJSON},
		{"compare.bench", "both sides for benchstat -col /side", files, FormatBench},
		{"pairs.txt", "interleaved pairs have an interval of the ratio", interleaved, FormatTable},
	} {
		t.Run(tt.file, func(t *testing.T) {
			var out bytes.Buffer
			if err := WriteComparison(&out, tt.c, tt.format, Options{}); err != nil {
				t.Fatal(err)
			}
			resultstest.Golden(t, tt.file, out.Bytes())
		})
	}
	if err := WriteComparison(&bytes.Buffer{}, files, "yaml", Options{}); err == nil {
		t.Error("yaml was written")
	}
}

// A framing as a whole is named with its placement in words.
func TestAFramingAsAWholeHasItsPlacementInWords(t *testing.T) {
	side := func(name string, ns float64) stat.Dataset {
		var records []results.Record
		for _, size := range []int{4096, 65_536} {
			records = append(records,
				resultstest.Record(resultstest.Cell("raw", size), int64(size),
					resultstest.Around(1000, 0.01)...),
				resultstest.Record(resultstest.Cell("ndjson", size), int64(size)+1,
					resultstest.Around(ns, 0.01)...))
		}
		return dataset(name, records...)
	}
	compared := stat.Compare(side("old", 1100), side("new", 1500), stat.CompareOptions{})
	var names []string
	for _, c := range compared.Changes {
		if c.IsWhole() {
			names = append(names, changeLabel(c, nil))
		}
	}
	if want := []string{"all of ndjson stream on one CPU"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// What is written as Go benchmark text compares with itself as the file does.
func TestBenchTextReadsBackAsWritten(t *testing.T) {
	var text bytes.Buffer
	set := resultstest.Sweep()
	if err := WriteBench(&text, set); err != nil {
		t.Fatal(err)
	}
	s, err := stat.ReadDatasetFrom("bench.txt", &text)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Problems) > 0 {
		t.Errorf("problems: %v", s.Problems)
	}
	for _, want := range stat.SeriesOf(set) {
		unit, scale := (stat.Change{Metric: want.Metric.Name, Cell: want.Cell}).BenchUnit()
		i := slices.IndexFunc(s.Series, func(g stat.Series) bool { return g.Name == want.Name && g.Metric.Name == unit })
		if i < 0 {
			if want.Metric.Name == "writer-calls" || want.Metric.Name == "reader-calls" {
				continue // the text has them as one
			}
			t.Fatalf("%s %s is not in the text", want.Name, unit)
		}
		for k, v := range want.Values {
			if got := s.Series[i].Values[k]; math.Abs(got-v*scale) > 1e-5*math.Abs(got) {
				t.Errorf("%s %s: wrote %v, read %v", want.Name, unit, v*scale, got)
			}
		}
		if got := s.Series[i].Metric.Better; got != want.Metric.Better {
			t.Errorf("%s: better %v, want %v", unit, got, want.Metric.Better)
		}
	}
}

// Results that were had through ssh come behind what the other machine greets with.
func TestReadSideBehindOtherText(t *testing.T) {
	records, bench := &bytes.Buffer{}, &bytes.Buffer{}
	set := resultstest.Sweep()
	for _, r := range set.Records {
		records.WriteString(resultstest.Encoded(t, r))
	}
	if err := WriteBench(bench, set); err != nil {
		t.Fatal(err)
	}
	for _, before := range []string{"", "\ufeff", "\n", "Welcome to h!\n\n", strings.Repeat("a long greeting\n", 100)} {
		for name, text := range map[string]string{"records": records.String(), "text": bench.String()} {
			s, err := stat.ReadDatasetFrom("f", strings.NewReader(before+text))
			if err != nil {
				t.Errorf("%s behind %.20q: %v", name, before, err)
			} else if (s.Set != nil) != (name == "records") {
				t.Errorf("%s behind %.20q were taken for something else", name, before)
			}
		}
	}
	s, err := stat.ReadDatasetFrom("f", strings.NewReader("Welcome to h!\n"+records.String()))
	if err != nil || len(s.Problems) != 1 || s.Problems[0].Line != 1 {
		t.Errorf("problems: %v, %v", s.Problems, err)
	}
}

func FuzzReadSide(f *testing.F) {
	f.Add([]byte("goos: linux\nUnit x better=higher\nBenchmarkX/a=1-8 10 5 ns/op 3 x\n"))
	f.Add([]byte("BenchmarkX 10 NaN ns/op\nBenchmarkX 10 +Inf MB/s\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := stat.ReadDatasetFrom("f", bytes.NewReader(text))
		if err != nil {
			return
		}
		c := stat.Compare(s, s, stat.CompareOptions{})
		for _, format := range Formats() {
			if err := WriteComparison(&bytes.Buffer{}, c, format, Options{}); err != nil && !errors.Is(err, ErrNothing) {
				t.Errorf("%s: %v", format, err)
			}
		}
	})
}

func TestNothingInCommon(t *testing.T) {
	c := stat.Compare(dataset("old", resultstest.Record(resultstest.Cell("raw", 1), 1, 100)), dataset("new", resultstest.Record(resultstest.Cell("raw", 2), 2, 100)), stat.CompareOptions{})
	if got := c.Outcome(0.05); got != stat.OutcomeInconclusive {
		t.Errorf("got %q", got)
	}
	if len(c.OnlyOld) != 1 || len(c.OnlyNew) != 1 {
		t.Errorf("only old %v, only new %v", c.OnlyOld, c.OnlyNew)
	}
	for _, f := range Formats() {
		if err := WriteComparison(&bytes.Buffer{}, c, f, Options{}); !errors.Is(err, ErrNothing) {
			t.Errorf("%s: got %v, want ErrNothing", f, err)
		}
		c.Doubt = "metric godput is not in both"
		err := WriteComparison(&bytes.Buffer{}, c, f, Options{})
		if !strings.Contains(fmt.Sprint(err), ": metric godput is not in both; only new has ") {
			t.Errorf("%s: got %v, want the doubt", f, err)
		}
	}
}

// Two files of one build say first that nothing got slower, and within what.
func TestTheFirstLineIsTheAnswer(t *testing.T) {
	set := resultstest.Sweep()
	for _, tt := range []struct {
		factor float64
		want   string
	}{
		{1, " did not change by more than 2.4 %; 64 figures did not"},
		{1.5, "got slower: ndjson 4 KiB stream on one CPU +50.0 % (+"},
	} {
		slow := resultstest.Sweep()
		for _, r := range slow.Records {
			for i := range r.Samples {
				if r.Cell.Framing == "ndjson" && r.Cell.Size == 4096 && r.Cell.Placement == "same" {
					sample := &r.Samples[i]
					*sample.Writer.CPUNS = int64(tt.factor * float64(*sample.Writer.CPUNS))
					*sample.Reader.CPUNS = int64(tt.factor * float64(*sample.Reader.CPUNS))
				}
			}
		}
		c := stat.Compare(stat.DatasetOf("old", set), stat.DatasetOf("new", slow),
			stat.CompareOptions{})
		var text strings.Builder
		if err := WriteComparison(&text, c, FormatTable, Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(text.String(), "\n")
		if !strings.Contains(first, tt.want) {
			t.Errorf("%v: the first line is %q, want %q", tt.factor, first, tt.want)
		}
	}
}

// The figures of two programs are benchmark text that others read, whatever they are called.
func TestFiguresOfProgramsAreBenchText(t *testing.T) {
	side := func() stat.Dataset {
		values := []float64{1000, 1000, 1001, 1002, 1003}
		var d stat.Dataset
		for _, m := range []stat.Metric{
			{Name: "bytes read", Unit: "B", Better: stat.Lower, Counter: true, ByRange: true},
			{Name: "CPU time", Unit: "ns", Better: stat.Lower},
			{Name: "time", Unit: "ns", Better: stat.Lower},
		} {
			s := stat.Series{Metric: m, Values: values, Figure: stat.Median(values), Messages: 1}
			d.Series = append(d.Series, s)
		}
		return d
	}
	c := stat.CompareTextPairs(side(), side(), stat.CompareOptions{})
	var text bytes.Buffer
	if err := WriteComparison(&text, c, FormatBench, Options{}); err != nil {
		t.Fatal(err)
	}
	lines := make(map[string]int)
	r := benchfmt.NewReader(&text, "bench.txt")
	for r.Scan() {
		switch line := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(line)
		case *benchfmt.Result:
			for _, v := range line.Values {
				unit := v.Unit
				if v.OrigUnit != "" {
					unit = v.OrigUnit
				}
				lines[string(line.Name)+" "+unit]++
			}
		}
	}
	for _, unit := range []string{"bytes-read/op", "CPU-ns/op", "ns/op"} {
		for _, side := range []string{"old", "new"} {
			if name := "Program/side=" + side + " " + unit; lines[name] != 5 {
				t.Errorf("%d lines of %s, want 5; there are %v", lines[name], name, lines)
			}
		}
	}
}

// A comparison of pairs fits a terminal, however long its cases are called.
func TestAComparisonFitsATerminal(t *testing.T) {
	cell := resultstest.Cell("content-length", 1<<20)
	cell.Pattern, cell.Placement = "roundtrip", "sibling"
	other := cell
	other.Transfer = "vmsplice"
	var before, after []*results.Set
	for i := range 12 {
		a, b := &results.Set{}, &results.Set{}
		for _, c := range []results.Cell{cell, other} {
			a.Add(resultstest.Record(c, 1<<20+26, 123456.7, 234567.8, 123999))
			b.Add(resultstest.Record(c, 1<<20+26, 987654.3-float64(i), 87654.3, 300000))
		}
		before, after = append(before, a), append(after, b)
	}
	c, err := stat.ComparePairs(before, after, stat.CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const name = "EncodeALongMessageOfManyPartsWithoutAnyFramingAtAll"
	text := func(ns int) stat.Dataset {
		const format = "Benchmark%s 90 %d ns/op 1000000 B/op 17 us-waited/op\n"
		lines := strings.Repeat(fmt.Sprintf(format, name, ns), 12)
		side, err := stat.ReadDatasetFrom("text", strings.NewReader(lines))
		if err != nil {
			t.Fatal(err)
		}
		return side
	}
	program := func(factor float64) stat.Dataset {
		d := stat.Dataset{Name: "cat input"}
		for _, m := range []stat.Metric{
			{Name: "bytes written", Unit: "B", Better: stat.Lower, Counter: true, ByRange: true},
			{Name: "instructions", Better: stat.Lower, Counter: true, ByRange: true},
			{Name: "CPU time", Unit: "ns", Better: stat.Lower},
			{Name: "time", Unit: "ns", Better: stat.Lower, ShownOnly: true},
		} {
			s := stat.Series{Metric: m, Messages: 1}
			for i := range 12 {
				s.Values = append(s.Values, 123456789*factor+float64(i%4))
			}
			s.Figure = stat.Median(s.Values)
			d.Series = append(d.Series, s)
		}
		return d
	}
	for what, c := range map[string]*stat.Comparison{
		"cells":    c,
		"tests":    stat.CompareTextPairs(text(3333), text(4444), stat.CompareOptions{}),
		"programs": stat.CompareTextPairs(program(1), program(1.07), stat.CompareOptions{}),
		"zero":     stat.CompareTextPairs(program(0), program(1.07), stat.CompareOptions{}),
	} {
		for _, width := range []int{60, 66, 80, 100} {
			for _, detail := range []bool{false, true} {
				var text strings.Builder
				o := Options{Width: width, Detail: detail}
				if err := WriteComparison(&text, c, FormatTable, o); err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(text.String()) {
					if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
						t.Errorf("%s: %d columns: %s", what, n, line)
					}
				}
				_, tables, _ := strings.Cut(text.String(), "Times")
				isNoted := strings.Contains(tables, "left out at this width: old")
				if !strings.Contains(tables, " old ") && !isNoted {
					t.Errorf("%s at %d: a column is left out:\n%s", what, width, text.String())
				}
			}
		}
	}
}

// Old and new stay on a narrow screen, all formats have the same order, and --detail shows counts
// that did not change.
func TestAComparisonShowsBothSides(t *testing.T) {
	const long = "Stream/framing=content-length/size=4000/io=blocking/placement=same-2"
	text := func(ns int) stat.Dataset {
		lines := strings.Repeat("BenchmarkA-2 900 500 ns/op 7 allocs/op\n", 6)
		lines += strings.Repeat(fmt.Sprintf("Benchmark%s 900 %d ns/op\n", long, ns), 6)
		side, err := stat.ReadDatasetFrom("text", strings.NewReader(lines))
		if err != nil {
			t.Fatal(err)
		}
		return side
	}
	c := stat.CompareTextPairs(text(3333), text(4444), stat.CompareOptions{})
	for _, format := range []Format{FormatTable, FormatMarkdown} {
		for _, detail := range []bool{false, true} {
			var out strings.Builder
			o := Options{Width: 80, Detail: detail}
			if err := WriteComparison(&out, c, format, o); err != nil {
				t.Fatal(err)
			}
			_, tables, _ := strings.Cut(out.String(), "Times")
			longer, shorter := strings.Index(tables, "3.33 µs"), strings.Index(tables, "500 ns")
			isListed := strings.Contains(tables, "7 ")
			if longer < 0 || longer > shorter || isListed != detail {
				t.Errorf("%s, detail %t:\n%s", format, detail, out.String())
			}
		}
	}
}

// The counts on one screen are of the same figures, also of those that it does not list.
func TestCountsOfAComparisonAgree(t *testing.T) {
	text := func(allocs int) stat.Dataset {
		lines := fmt.Sprintf("BenchmarkA 900 500 ns/op %d allocs/op\n", allocs)
		lines += "BenchmarkB 900 500 ns/op 7 allocs/op\n"
		side, err := stat.ReadDatasetFrom("text", strings.NewReader(strings.Repeat(lines, 3)))
		if err != nil {
			t.Fatal(err)
		}
		return side
	}
	c := stat.CompareTextPairs(text(7), text(9), stat.CompareOptions{})
	var out strings.Builder
	if err := WriteComparison(&out, c, FormatTable, Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 of 4 figures got worse: ", "2 of 4 figures: 3 pairs: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q:\n%s", want, out.String())
		}
	}
}

// A figure that fell to 0 has no ratio to be within.
func TestAFigureThatFellToNoneIsLikelyBetter(t *testing.T) {
	side := func(values ...float64) stat.Dataset {
		m := stat.Metric{Name: "B/op", Better: stat.Lower}
		s := stat.Series{Metric: m, Values: values, Figure: stat.Median(values), Messages: 1}
		return stat.Dataset{Series: []stat.Series{s}}
	}
	old, new := side(1, 0, 1, 1, 0, 1), side(0, 0, 0, 0, 0, 0)
	c := stat.CompareTextPairs(old, new, stat.CompareOptions{})
	const want = "Nothing got worse (time was not compared); 1 figure likely got better."
	var out strings.Builder
	if err := WriteComparison(&out, c, FormatTable, Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("no %q:\n%s", want, out.String())
	}
}

// A count that differs by chance is named, and is none that did not change.
func TestACountThatVariesIsNamed(t *testing.T) {
	side := func(reads ...float64) stat.Dataset {
		var d stat.Dataset
		for name, values := range map[string][]float64{"reads": reads, "writes": {7, 7}} {
			m := stat.Metric{Name: name, Better: stat.Lower, Counter: true, ByRange: true}
			figure := stat.Estimate{Median: slices.Min(values), N: len(values)}
			s := stat.Series{Metric: m, Values: values, Figure: figure, Messages: 1}
			d.Series = append(d.Series, s)
		}
		return d
	}
	c := stat.CompareTextPairs(side(674, 676), side(675, 677), stat.CompareOptions{})
	var out strings.Builder
	if err := WriteComparison(&out, c, FormatTable, Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Nothing certainly got worse (time was not compared); 1 figure did not change " +
			"by more than ",
		"  1 figure did not change.\n",
		"675  +0.148 %  may be chance\n",
		"\nreads: counts vary as much between starts of one version\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q:\n%s", want, out.String())
		}
	}
}

// A time that is better in its whole interval, but not certainly, is not said to have stayed.
func TestATimeThatIsLikelyBetterIsNamed(t *testing.T) {
	side := func(times ...float64) stat.Dataset {
		m := stat.Metric{Name: "ns/op", Unit: "ns", Better: stat.Lower}
		s := stat.Series{Name: "A", Metric: m, Values: times, Figure: stat.Median(times)}
		return stat.Dataset{Series: []stat.Series{s}}
	}
	old := side(1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000)
	new := side(943, 985, 967, 949, 991, 973, 955, 997, 979, 961)
	c := stat.CompareTextPairs(old, new, stat.CompareOptions{})
	var out strings.Builder
	if err := WriteComparison(&out, c, FormatTable, Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"; 1 figure likely got better.", "  likely better\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q:\n%s", want, out.String())
		}
	}
}

func dataset(name string, records ...results.Record) stat.Dataset {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	for _, r := range records {
		s.Add(r)
	}
	return stat.DatasetOf(name, s)
}
