package results

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// drifting are times of a message in six rounds of a machine that gets slower,
// each a little off.
func drifting(ns float64) []float64 {
	jitter := rand.New(rand.NewPCG(uint64(ns), 1))
	var out []float64
	for round := range 6 {
		out = append(out, math.Round(ns*(1+0.03*float64(round))*(0.99+0.02*jitter.Float64())))
	}
	return out
}

// withLatency gives every sample of r a distribution about its time a message.
func withLatency(r Record, key string, count int) Record {
	for i, s := range r.Samples {
		ns := make([]int64, count)
		for j := range ns {
			ns[j] = s.ElapsedNS / s.Messages * int64(100+j%40) / 100
		}
		l, err := NewLatency(ns)
		if err != nil {
			panic(err)
		}
		r.Samples[i].Latency = map[string]Latency{key: l}
	}
	return r
}

// sweep is what a small run leaves: two placements, three framings, two sizes,
// round trips, one cell that the system cannot run and one with a warning.
func sweep() *Set {
	s := &Set{}
	s.Add(testEnvironment())
	for _, placement := range []string{"same", "apart"} {
		slower := map[string]float64{"same": 1, "apart": 3}[placement]
		for _, size := range []int{4096, 65536} {
			for _, f := range []struct {
				framing string
				wire    int
				factor  float64
			}{{"raw", 0, 1}, {"ndjson", 1, 1.1}, {"chunked:61440", 51, 1.25}} {
				c := testCell(f.framing, size)
				c.Placement = placement
				s.Add(testRecord(c, int64(size+f.wire), drifting(float64(size)/8*f.factor*slower)...))
			}
		}
		for wire, f := range []string{"raw", "ndjson"} {
			c := testCell(f, 256)
			c.Placement, c.Pattern = placement, "roundtrip"
			s.Add(withLatency(testRecord(c, int64(256+wire), drifting((1900+float64(50*wire))*slower)...), "roundtrip", 2000))
		}
	}
	odd := testCell("length-prefix", 65536)
	odd.Placement = "apart"
	s.Add(Record{Run: "run-1", Time: testTime, Cell: odd, Unsupported: "this system has one CPU"})
	s.Records[0].Verified = &Verified{Sequence: 6000, Compared: 100, Bytes: 409600}
	s.Records[1].Warnings = []string{"another process used 30 % of a CPU; close it"}
	return s
}

// findings is one of each thing that is not a measurement.
func findings(t *testing.T) *Set {
	t.Helper()
	s := &Set{}
	for _, l := range lines() {
		if _, ok := l.(Record); !ok {
			s.Add(l)
		}
	}
	return s
}

func TestViews(t *testing.T) {
	wire := sweep()
	c := testCell("raw", 65537)
	wire.Add(testRecord(c, 65537, drifting(9000)...))
	few := &Set{}
	few.Add(testEnvironment())
	few.Add(testRecord(testCell("raw", 256), 256, 100, 101))
	few.Add(testRecord(testCell("ndjson", 256), 257, 120, 121))
	for _, tt := range []struct {
		file, proves string
		set          *Set
		format       Format
		o            ViewOptions
	}{
		{"sweep.txt", "a table for each placement and for its round trips, sentences that follow from the figures, one warning and one unsupported cell", sweep(), FormatTable, ViewOptions{}},
		{"sweep.ascii.txt", "the same for a terminal that knows nothing but ASCII, without the header", sweep(), FormatTable, ViewOptions{NoHeader: true, ASCII: true}},
		{"sweep.md", "the same for a pull request", sweep(), FormatMarkdown, ViewOptions{}},
		{"sweep.csv", "one row a cell with all figures in base units", sweep(), FormatCSV, ViewOptions{}},
		{"sweep.json", "the summary as it is", sweep(), FormatJSON, ViewOptions{}},
		{"sweep.bench", "Go benchmark text, one line a sample", sweep(), FormatBench, ViewOptions{}},
		{"wire.txt", "a raw cell of a framing's wire size gives a further column", wire, FormatTable, ViewOptions{NoHeader: true}},
		{"few.txt", "two samples give no interval, and nothing is claimed", few, FormatTable, ViewOptions{NoHeader: true}},
		{"findings.txt", "probes, faults, claims, targets, tunes, noise and messages have a table each", findings(t), FormatTable, ViewOptions{}},
		{"findings.md", "the same in markdown, with a bar escaped", findings(t), FormatMarkdown, ViewOptions{}},
		{"findings.csv", "without measurements, CSV holds the findings", findings(t), FormatCSV, ViewOptions{}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			var out bytes.Buffer
			if err := tt.set.Write(&out, tt.format, tt.o); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.file, out.Bytes())
			if tt.format != FormatTable {
				return
			}
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(line) - 1; n > 120 {
					t.Errorf("%d columns: %s", n, line)
				}
				if tt.o.ASCII && strings.ContainsFunc(line, func(r rune) bool { return r > 126 }) {
					t.Errorf("not ASCII: %s", line)
				}
			}
		})
	}
}

func TestNothingToShow(t *testing.T) {
	s := &Set{}
	s.Add(testEnvironment())
	for _, f := range Formats() {
		if err := s.Write(&bytes.Buffer{}, f, ViewOptions{}); !errors.Is(err, ErrNothing) {
			t.Errorf("%s: got %v, want ErrNothing", f, err)
		}
	}
	s.Add(Record{Run: "run-1", Cell: testCell("raw", 1), Unsupported: "no"})
	if err := s.Write(&bytes.Buffer{}, FormatBench, ViewOptions{}); !errors.Is(err, ErrNothing) {
		t.Errorf("bench of a cell without samples: got %v, want ErrNothing", err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errDisk }

func TestViewsPassOnTheWritersError(t *testing.T) {
	for _, f := range Formats() {
		if err := sweep().Write(fullDisk{}, f, ViewOptions{}); !errors.Is(err, errDisk) {
			t.Errorf("%s: got %v, want the disk's error", f, err)
		}
	}
}

func TestParseFormat(t *testing.T) {
	for _, f := range Formats() {
		if got, err := ParseFormat(string(f)); err != nil || got != f {
			t.Errorf("%s: got %s, %v", f, got, err)
		}
	}
	if _, err := ParseFormat("yaml"); err == nil || !strings.Contains(err.Error(), "markdown") {
		t.Errorf("yaml: got %v, want the formats that there are", err)
	}
	if err := sweep().Write(&bytes.Buffer{}, "yaml", ViewOptions{}); err == nil {
		t.Error("yaml was written")
	}
}

// What every cell is warned of stands once below the tables, not at every row.
func TestWarningsOfAllCellsAreSaidOnce(t *testing.T) {
	s := sweep()
	const all, one = "load: others kept about 0.4 of 2 CPUs busy; stop what else runs", "2 of 6 samples lie far from the others"
	for i := range s.Records {
		if len(s.Records[i].Samples) > 0 {
			s.Records[i].Warnings = []string{all}
		}
	}
	s.Records[0].Warnings = []string{one, all}
	sum := Summarise(s)
	if len(sum.Warnings) != 1 || sum.Warnings[0] != all {
		t.Errorf("said of all: %q", sum.Warnings)
	}
	var text bytes.Buffer
	if err := s.Write(&text, FormatTable, ViewOptions{}); err != nil {
		t.Fatal(err)
	}
	unwrapped := strings.Join(strings.Fields(text.String()), " ")
	if strings.Count(unwrapped, all) != 1 || !strings.Contains(unwrapped, "every cell: "+all) || strings.Count(unwrapped, one) != 1 {
		t.Errorf("the table:\n%s", text.String())
	}
	text.Reset()
	if err := s.Write(&text, FormatCSV, ViewOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(text.String(), all); got != len(s.Records)-1 {
		t.Errorf("%d rows of the CSV have it, want all but the one that was not measured", got)
	}
	single := &Set{}
	single.Add(s.Records[0])
	if sum := Summarise(single); len(sum.Warnings) != 0 || len(sum.Rows[0].Warnings) != 2 {
		t.Errorf("a cell alone keeps its own: %q, %q", sum.Warnings, sum.Rows[0].Warnings)
	}
}
