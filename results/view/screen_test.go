package view

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// sweepOf measures framings at sizes and placements, streams and round trips, in as many samples as
// give an interval.
func sweepOf(framings []string, sizes []int, placements ...string) *results.Set {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	for _, placement := range placements {
		for _, pattern := range []string{"stream", "roundtrip"} {
			for _, size := range sizes {
				for i, framing := range framings {
					c := resultstest.Cell(framing, size)
					c.Placement, c.Pattern = placement, pattern
					s.Add(resultstest.Record(c, int64(size+i), resultstest.Around(float64(1000+size)*(1+float64(i)/5), 0.01)...))
				}
			}
		}
	}
	return s
}

var manyFramings = []string{"raw", "ndjson", "content-length", "chunked:61440", "length-prefix"}

func screenOf(t *testing.T, s *results.Set, o Options) []string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, s, FormatTable, o); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
}

// Whatever was measured fits the width, and names the sizes that do not.
func TestMeasurementsFitTheWidth(t *testing.T) {
	sizes := []int{64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20}
	for _, tt := range []struct {
		name  string
		set   *results.Set
		width int
	}{
		{"the default run", sweepOf(manyFramings, []int{256, 4 << 10, 64 << 10, 1 << 20}, "same", "apart"), 0},
		{"in 80 columns", sweepOf(manyFramings, []int{256, 4 << 10, 64 << 10, 1 << 20}, "same", "apart"), 80},
		{"in 60 columns", sweepOf(manyFramings, []int{256, 4 << 10, 64 << 10, 1 << 20}, "same", "apart"), 60},
		{"in 40 columns", sweepOf(manyFramings, sizes, "same", "far"), 40},
		{"many sizes and placements", sweepOf(manyFramings, sizes, "same", "sibling", "apart", "far", "free"), 300},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := screenOf(t, tt.set, Options{Width: tt.width})
			for _, line := range lines {
				n := utf8.RuneCountInString(line)
				tooWide := n > Options{Width: tt.width}.Columns()
				if tooWide && tt.width != 40 || n > 100 {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			text := strings.Join(lines, "\n")
			for _, want := range []string{"Goodput vs raw, one CPU", "64 KiB", "0.83 ±"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			left := strings.Contains(text, "columns left out")
			if want := len(tt.set.Records) > 200 || tt.width == 40; left != want {
				t.Errorf("of what is left out it says %v in\n%s", left, text)
			}
		})
	}
}

// A figure whose interval says nothing is marked as rough; what is good and bad has colours where
// they were asked for alone.
func TestNoisyFiguresAreMarked(t *testing.T) {
	flat := resultstest.Around(10000, 0)
	s := resultstest.Beside("same", flat, map[string][]float64{
		"ndjson": {5000, 5000, 9000, 30000, 50000, 60000}, "chunked:61440": resultstest.Around(50000, 0.01),
	})
	equal := resultstest.Cell("length-prefix", 65536)
	s.Add(resultstest.Record(equal, 65540, flat...))
	plain := strings.Join(screenOf(t, s, Options{}), "\n")
	if !strings.Contains(plain, "~") || strings.Contains(plain, "\x1b") {
		t.Errorf("no doubt, or colours:\n%s", plain)
	}
	coloured := strings.Join(screenOf(t, s, Options{Colour: true}), "\n")
	for _, want := range []string{yellow + "~", green + "1.00 ± 0%", red + "0.20 ±"} {
		if !strings.Contains(coloured, want) {
			t.Errorf("no %q in\n%q", want, coloured)
		}
	}
	if stripped := strings.NewReplacer(yellow, "", green, "", red, "", "\x1b[0m", "").Replace(coloured); stripped != plain {
		t.Errorf("colours move the figures:\n%s", stripped)
	}
}

// A warning of all cells is one line, and so are those about single cells. Many kinds are only
// counted.
func TestWarningsAreFew(t *testing.T) {
	s := sweepOf(manyFramings, []int{4 << 10, 64 << 10}, "same")
	const clock = "clock: a reading takes 2 µs; choose a clock source that needs no system call"
	const outliers = "outliers among the samples: 3 of 6; close others"
	for i := range s.Records {
		s.Records[i].Warnings = []string{clock}
	}
	s.Records[1].Warnings = append(s.Records[1].Warnings, outliers)
	s.Records[2].Failed = "the reader died"
	text := strings.Join(screenOf(t, s, Options{Width: 100}), "\n")
	for _, want := range []string{
		"\n" + clock + "\n", "ndjson 4 KiB stream on one CPU capacity=64 KiB: " + outliers,
		"failed: the reader died",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is not there once in\n%s", want, text)
		}
	}
	s.Records[3].Warnings = append(s.Records[3].Warnings, "two clusters, so what: run it again")
	text = strings.Join(screenOf(t, s, Options{Width: 100}), " ")
	text = strings.Join(strings.Fields(text), " ")
	const short = "--detail shows all 20 cells, and warnings about 20 of them"
	if !strings.Contains(text, short) {
		t.Errorf("no %q in\n%s", short, text)
	}
}

// A note names a cell with all that is unusual in it, so that no two cells have one name.
func TestANoteTellsCellsApart(t *testing.T) {
	cell := results.UsualCell("ndjson", "stream", "same", 4000)
	s := &results.Set{}
	s.Add(resultstest.Environment())
	for _, io := range []string{"poll/blocking", "poller/blocking"} {
		for _, drain := range []int64{0, 50_000_000} {
			cell.IO = io
			cell.Drain = drain
			r := resultstest.Record(cell, 4001, resultstest.Around(10000, 0.01)...)
			if io == "poll/blocking" {
				r.Warnings = []string{"the samples form two clusters"}
			}
			s.Add(r)
		}
	}
	text := strings.Join(strings.Fields(strings.Join(screenOf(t, s, Options{}), " ")), " ")
	const want = "ndjson 4,000 B stream on one CPU io=poll/blocking, " +
		"ndjson 4,000 B stream on one " +
		"CPU drain=50 MB/s io=poll/blocking: the samples form two clusters"
	if !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// What kept the CPUs busy is told at the top, whether framings could be compared or not.
func TestLoadIsToldAtTheTop(t *testing.T) {
	s := sweepOf(manyFramings, []int{64 << 10}, "same")
	for i := range s.Records {
		const load = "load: other programs kept about 0.4 of 2 CPUs busy; close"
		s.Records[i].Warnings = []string{load}
	}
	lines := screenOf(t, s, Options{})
	const told = "ther programs kept about 0.4 of 2 CPUs busy."
	top := strings.Join(lines[:3], "\n")
	text := strings.Join(lines, "\n")
	if !strings.Contains(top, told) || strings.Count(text, "of 2 CPUs busy") != 1 {
		t.Errorf("not told once, at the top:\n%s", text)
	}
	if lead := strings.Join(Sections(s)[0].Lead, "\n"); !strings.Contains(lead, told) {
		t.Errorf("not told at the top of a page:\n%s", lead)
	}
}

// A default run fits a screen, a noisy one too: it leaves out tables that sentences sum up.
func TestARunFitsAScreen(t *testing.T) {
	s := sweepOf(manyFramings, []int{256, 4000, 65_000, 1_000_000}, "same", "apart", "free")
	for i := range s.Records {
		s.Records[i].Cell.Capacity = 0
		c := s.Records[i].Cell
		if c.Size == 65_000 && c.Pattern == "stream" {
			c.Source = "fresh"
			c.Work = 1
			c.Touch = true
			s.Add(resultstest.Record(c, int64(c.Size), resultstest.Around(9000, 0.01)...))
		}
	}
	lines := screenOf(t, s, Options{})
	text := strings.Join(lines, "\n")
	const note = "--detail shows all 135 cells"
	hasProgram := strings.Contains(text, "raw of a program")
	if len(lines) > 50 || !strings.Contains(text, note) || hasProgram {
		t.Errorf("%d lines, no %q in\n%s", len(lines), note, text)
	}
}

// A run that was so disturbed that it has only a few samples says what to do.
func TestARunWithTooFewSamplesSaysSo(t *testing.T) {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	for _, framing := range []string{"raw", "ndjson"} {
		samples := resultstest.Around(1000, 0.01)[:2]
		s.Add(resultstest.Record(resultstest.Cell(framing, 4000), 4001, samples...))
	}
	text := strings.Join(screenOf(t, s, Options{Width: 100}), " ")
	says := "2 cells measured, at most 2 samples each. " +
		"All figures are rough (~): an interval takes 6"
	if !strings.Contains(text, says) {
		t.Errorf("got\n%s", text)
	}
}

// The first sentence counts cells that have samples, and says what became of the others.
func TestOnlyMeasuredCellsAreCounted(t *testing.T) {
	const busy = "load: other programs kept about 1.6 of 2 CPUs busy; close them"
	for _, tt := range []struct {
		name    string
		samples int
		stopped string
		warning string
		want    string
	}{
		{"time was up", 3, "max-time", "", "1 of 2 cells measured, at most 3 samples each; " +
			"1 not reached (time was up). All figures are rough (~)"},
		{"nothing was measured", 0, "max-time", "",
			"No cell measured; 2 not reached (time was up). Give it more time (--max-time)."},
		{"interrupted", 3, "interrupted", busy,
			"Interrupted: 1 of 2 cells measured, at most 3 samples each; 1 not reached. " +
				"Run it again to the end: with the same --out, pipebench report counts the " +
				"samples of both."},
		{"interrupted late", 6, "interrupted", "",
			"Interrupted: 1 of 2 cells measured, 1 with fewer samples than asked for; " +
				"1 not reached. Run it again to the end: with the same --out, pipebench report " +
				"counts the samples of both."},
		{"enough for one of two", 6, "max-time", busy, "1 of 2 cells measured; 1 not reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &results.Set{}
			s.Add(resultstest.Environment())
			ns := resultstest.Around(1000, 0.01)
			for i, n := range []int{tt.samples, 0} {
				r := resultstest.Record(resultstest.Cell("ndjson", 4000<<i), 4001, ns[:n]...)
				r.Stopped = tt.stopped
				if tt.warning != "" {
					r.Warnings = []string{tt.warning}
				}
				s.Add(r)
			}
			answer := strings.Join(Sections(s)[0].Lead, " ")
			if !strings.Contains(Sections(s)[0].Title+". "+answer, tt.want) {
				t.Errorf("the answer is %q", answer)
			}
		})
	}
}

// On a busy machine the top says that, and what to do until framings can be compared.
func TestABusyMachineIsToldFirst(t *testing.T) {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	for _, framing := range []string{"raw", "ndjson"} {
		samples := resultstest.Around(1000, 0.01)[:3]
		r := resultstest.Record(resultstest.Cell(framing, 4000), 4001, samples...)
		r.Warnings = []string{"load: other programs kept about 1.6 of 2 CPUs busy; close them"}
		s.Add(r)
	}
	text := strings.Join(strings.Fields(strings.Join(screenOf(t, s, Options{}), " ")), " ")
	const top = "load 0.25 Other programs kept about 1.6 of 2 CPUs busy. 2 cells measured, at most "
	const says = "Until you know, use the framing that the other end speaks."
	for _, want := range []string{top, says, "Goodput vs raw, one CPU"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// On a busy machine one line says that all figures are rough, and how long to measure instead. What
// noise does not hide is told: bytes, which no clock counts.
func TestABusyMachineTellsWhatIsKnown(t *testing.T) {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	for i, framing := range []string{"raw", "ndjson", "length-prefix"} {
		for _, pattern := range []string{"stream", "roundtrip"} {
			c := resultstest.Cell(framing, 4000)
			c.Pattern = pattern
			c.Placement = "free"
			ns := resultstest.Around(1000, 0.9)[:3]
			r := resultstest.Record(c, int64(4000+4*i), ns...)
			if pattern == "roundtrip" {
				r = resultstest.WithLatency(r, pattern, 100)
			}
			r.Time = resultstest.Time.Add(45 * time.Second)
			r.Warnings = []string{
				"load: other programs kept about 1.6 of 2 CPUs busy; close them",
				"fewer samples than asked for, too few for an interval: time was up",
			}
			s.Add(r)
		}
	}
	text := strings.Join(strings.Fields(strings.Join(screenOf(t, s, Options{}), " ")), " ")
	for _, want := range []string{
		"at most 3 samples each. All figures are rough (~): an interval takes 6 samples per " +
			"cell. Close other programs, or give it more time (--max-time).",
		"Round trip (median of messages), unpinned framing 4,000 B ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	for _, once := range []string{"kept about 1.6", "6 samples per cell"} {
		if n := strings.Count(text, once); n != 1 {
			t.Errorf("%q stands there %d times: %s", once, n, text)
		}
	}
	for _, never := range []string{"of 6 cells", "samples than asked"} {
		if strings.Contains(text, never) {
			t.Errorf("%q is repeated in %s", never, text)
		}
	}
}

// Where each start of the processes has too few messages for a median of them, the time that has an
// interval is shown.
func TestAMedianWithoutAnIntervalYieldsToTheTime(t *testing.T) {
	set := &results.Set{}
	set.Add(resultstest.Environment())
	for _, framing := range []string{"raw", "ndjson"} {
		c := resultstest.Cell(framing, 4000)
		c.Pattern = "roundtrip"
		r := resultstest.Record(c, 4000, resultstest.Around(1000, 0.1)[:6]...)
		set.Add(resultstest.WithLatency(r, c.Pattern, 4))
	}
	text := strings.Join(screenOf(t, set, Options{}), "\n")
	if !strings.Contains(text, "Round trip vs raw") || strings.Contains(text, "~") {
		t.Errorf("rough figures, though others are exact:\n%s", text)
	}
}

// Many settings are the rows of a few tables, not a table each.
func TestManySettingsShareATable(t *testing.T) {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	for write := range 20 {
		c := resultstest.Cell("ndjson", 1_000_000)
		c.WriteSize = 1024 * write
		s.Add(resultstest.Record(c, 1_000_001, resultstest.Around(1000, 0.01)...))
	}
	tables, _ := screenTables(Summarise(s).Rows)
	if len(tables) != 1 || len(tables[0].Rows) != 20 {
		t.Errorf("%d tables, the first %q with %d rows", len(tables), tables[0].Title,
			len(tables[0].Rows))
	}
}
