package plots

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
	"github.com/pipebench/pipebench/results/stat"
)

var update = resultstest.Update

// TestChartsHoldTheRecords compares the charts of every kind of record as data, not as pixels, with
// testdata/charts.txt.
func TestChartsHoldTheRecords(t *testing.T) {
	charts := append(Charts(fullSet()), Charts(twoMachines())...)
	names := map[string]bool{}
	var text strings.Builder
	for _, c := range charts {
		if names[c.Name] {
			t.Errorf("two charts are named %s", c.Name)
		}
		names[c.Name] = true
		writeData(&text, c)
		drawn(t, c)
	}
	golden(t, "charts.txt", text.String())
}

// A kind of chart without records here would be looked at by no test.
func TestEveryKindOfChartHasRecords(t *testing.T) {
	set := fullSet()
	set.Records = append(set.Records, specialRecords(t)...)
	all := rowsOf(set)
	for i, k := range kinds {
		if !slices.ContainsFunc(k.chart(all).Panels, Panel.comparesPoints) {
			function := runtime.FuncForPC(reflect.ValueOf(k.chart).Pointer()).Name()
			t.Errorf("kinds[%d] (%s) draws nothing from the records of fullSet and specialRecords",
				i, function)
		}
	}
}

// specialRecords are those of the charts that do not compare framings, which fullSet lacks.
func specialRecords(t *testing.T) []results.Record {
	var times []int64
	for i := range int64(40) {
		times = append(times, 1000+i)
	}
	latency, err := results.NewLatency(times)
	if err != nil {
		t.Fatal(err)
	}
	var all []results.Record
	add := func(framing string, change func(*results.Cell)) {
		r := results.Record{Run: "run-1", Cell: testCell(framing, 65536, "same", "stream")}
		change(&r.Cell)
		r.Samples = []results.Sample{{ElapsedNS: 1e6, Messages: 9, PayloadBytes: 1e6,
			Latency: map[string]results.Latency{
				"oneway": latency, "due": latency, "service": latency}}}
		all = append(all, r)
	}
	for i := range 3 {
		add("ndjson", func(c *results.Cell) { c.WriteSize = 4096 << i })
		add("ndjson", func(c *results.Cell) { c.IO = fmt.Sprintf("sleep=%dms/blocking", i+1) })
		chunked := fmt.Sprintf("chunked:%d", 4096<<i)
		add(chunked, func(*results.Cell) {})
		add(chunked, func(c *results.Cell) {
			c.Pattern = results.PatternMixed
			c.Rate = 4000
		})
	}
	return all
}

// writeData writes what a chart says, a line a series; of long lines some points.
func writeData(w io.Writer, c Chart) {
	fmt.Fprintf(w, "# %s: %s\n", c.Name, c.Title)
	for _, line := range append(slices.Clone(c.Subtitle), c.Notes...) {
		fmt.Fprintln(w, " ", line)
	}
	fmt.Fprintf(w, "  x: %s; y: %s\n", c.X.Label, c.Y.Label)
	for _, p := range c.Panels {
		fmt.Fprintf(w, "- %s %v\n", p.Title, p.Guides)
		y := c.Y
		if p.Y != nil {
			y = *p.Y
		}
		for _, s := range p.Series {
			fmt.Fprintf(w, "    %s:", s.Name)
			for i, pt := range s.Points {
				if i%(1+len(s.Points)/8) > 0 {
					continue
				}
				fmt.Fprintf(w, " %s %s", c.X.Format(float64(pt.X)), y.Format(pt.Y))
				if pt.Low != pt.High {
					fmt.Fprintf(w, " [%s, %s]", y.Format(pt.Low), y.Format(pt.High))
				}
				fmt.Fprint(w, strings.TrimRight(" "+pt.Label, " "), ";")
			}
			fmt.Fprintln(w)
		}
	}
}

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s (-want +got), -update writes it anew:\n%s", name, d)
	}
}

func TestGoodputHasALineAFramingAndAPanelAPlacement(t *testing.T) {
	c := goodputChart(rowsOf(testSet()))
	if got := titles(c); !slices.Equal(got, []string{"one CPU", "two CPUs"}) {
		t.Errorf("panels %q", got)
	}
	want := []string{"raw", "ndjson", "content-length", "60 KiB chunks", "length-prefix"}
	for _, p := range c.Panels {
		if got := seriesNames(p); !slices.Equal(got, want) {
			t.Errorf("%s: lines %q, want %q", p.Title, got, want)
		}
		for _, s := range p.Series {
			if s.Reference != (s.Name == "raw") {
				t.Errorf("%s: reference is %v", s.Name, s.Reference)
			}
			for _, pt := range s.Points {
				if !(pt.Low <= pt.Y && pt.Y <= pt.High && pt.Low < pt.High) {
					t.Errorf("%s: an odd point %+v", s.Name, pt)
				}
			}
		}
	}
}

// A title says what its picture shows.
func TestTitlesSayTheMessage(t *testing.T) {
	charts := Charts(testSet())
	want := map[string]string{
		"goodput": "Framings carry 1 MiB at 6.2 to 8.2 GB/s on one CPU, " +
			"1.9 to 2.1 GB/s on two CPUs",
		"overhead":  "Framing adds at most 16 % at 256 B, 0.075 % at 1 MiB",
		"roundtrip": "A round trip of 256 B on one CPU takes 2.8 to 4.1 µs (median of messages)",
	}
	for _, c := range charts {
		if title, known := want[c.Name]; known && c.Title != title {
			t.Errorf("%s is titled %q, want %q", c.Name, c.Title, title)
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		t.Errorf("no charts of %v", want)
	}
}

// A percentile that few lines have would leave most panels half empty.
func TestAPercentileOfFewLinesIsNotShown(t *testing.T) {
	line := func(n int) Series { return Series{Points: make([]Point, n)} }
	for _, tt := range []struct {
		points []int // of each line
		want   int
	}{
		{[]int{3, 3, 3, 3}, 3},
		{[]int{3, 3, 2, 2}, 3},
		{[]int{3, 2, 2, 2}, 2},
		{[]int{4, 3, 1, 1}, 3},
		{[]int{1}, 1},
	} {
		c := Chart{X: Axis{Places: shownQuantiles}}
		for _, n := range tt.points {
			c.Panels = append(c.Panels, Panel{Series: []Series{line(n)}})
		}
		c.dropRarePercentiles()
		if len(c.X.Places) != tt.want {
			t.Errorf("lines of %v points show %q, want %d", tt.points, c.X.Places, tt.want)
		}
		for _, s := range c.series() {
			if len(s.Points) > tt.want {
				t.Errorf("lines of %v points: one still has %d", tt.points, len(s.Points))
			}
		}
	}
}

// A title claims no more than the noise allows.
func TestTitlesHeedTheNoise(t *testing.T) {
	one := func(cell results.Cell) bool {
		return !isRaw(cell.Framing) && cell.Framing != "content-length"
	}
	for _, tt := range []struct {
		chart string
		noisy func(results.Cell) bool
		want  string
	}{
		{"ratio", one,
			"Too noisy to compare framings"},
		{"goodput", func(c results.Cell) bool { return c.Placement == "same" || c.Size == 1<<20 },
			"Framings carry 64 KiB at 1.8 to 2 GB/s on two CPUs"},
		{"goodput", func(results.Cell) bool { return true }, "Goodput by message size"},
	} {
		set := testSet()
		for i, r := range set.Records {
			set.Records[i].Samples = slices.Clone(r.Samples)
			for k := range r.Samples {
				ns := &set.Records[i].Samples[k].ElapsedNS
				switch {
				case !tt.noisy(r.Cell):
				case k%2 > 0:
					*ns *= 4
				default:
					*ns /= 3
				}
			}
		}
		if c := chartOfName(t, set, tt.chart); c.Title != tt.want {
			t.Errorf("%s is titled %q, want %q", tt.chart, c.Title, tt.want)
		}
	}
}

func TestOverheadIsExactAndZeroForRaw(t *testing.T) {
	c := overheadChart(rowsOf(testSet()))
	for _, s := range c.Panels[0].Series {
		for _, p := range s.Points {
			switch {
			case s.Name == "raw" && p != exact(p.X, 0):
				t.Errorf("raw at %v: %v", p.X, p)
			case s.Name == "60 KiB chunks" && p.X == 3 && p != exact(3, 100*782.0/(1<<20)):
				t.Errorf("chunked at 1 MiB: %v %%, want 782 bytes", p.Y)
			}
		}
	}
}

// TestOrderIsNotThatOfTheRecords shuffles the records, as an engine that interleaves them does.
func TestOrderIsNotThatOfTheRecords(t *testing.T) {
	want := Charts(testSet())
	set := testSet()
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(set.Records), func(i, k int) {
		set.Records[i], set.Records[k] = set.Records[k], set.Records[i]
	})
	got := Charts(set)
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Chart{})); d != "" {
		t.Errorf("the order of the records shows (-sorted +shuffled):\n%s", d)
	}
}

func TestWhatElseVariesMakesPanels(t *testing.T) {
	set := testSet()
	for _, r := range testStreams("run-1", 9, 0.5) {
		r.Cell.Pipe = "fifo"
		set.Records = append(set.Records, r)
	}
	got := titles(goodputChart(rowsOf(set)))
	want := []string{"one CPU, anonymous pipe", "two CPUs, anonymous pipe", "one CPU, fifo",
		"two CPUs, fifo"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("panels %q, want %q", got, want)
	}
}

func TestChunkSweepHasItsOwnChart(t *testing.T) {
	c := chunkChart(rowsOf(sweep()))
	longest := 0
	for _, p := range c.Panels {
		for _, s := range p.Series {
			longest = max(longest, len(s.Points))
		}
	}
	if c.Name != "chunk" || longest != 5 {
		t.Errorf("%s with %d points", c.Name, longest)
	}
}

func TestAChartOfOnePointIsLeftOut(t *testing.T) {
	set := testSet()
	set.Records = set.Records[:1]
	if names := chartNames(Charts(set)); len(names) > 0 {
		t.Errorf("charts %q", names)
	}
}

// Recorded messages have no size in common: they have a panel of their own.
func TestRecordedMessagesHaveTheirPanel(t *testing.T) {
	set := testSet()
	for _, r := range testStreams("run-1", 5, 1) {
		if r.Cell.Size == 4096 {
			r.Cell.Size, r.Cell.Payload, r.Cell.Messages = 0, "recorded", "3fa1"
			set.Records = append(set.Records, r)
		}
	}
	c := goodputChart(rowsOf(set))
	for _, p := range c.Panels {
		if !strings.Contains(p.Title, "recorded payload") {
			continue
		}
		for _, series := range p.Series {
			if at := c.X.Places[series.Points[0].X]; at != "recorded" {
				t.Errorf("the messages stand at %q", at)
			}
		}
		return
	}
	t.Errorf("panels %q", titles(c))
}

// Round trips of which each size was measured in a placement of its own have a panel for each.
func TestEachSizeInAPlacementOfItsOwn(t *testing.T) {
	set := testSet()
	set.Records = slices.DeleteFunc(set.Records, func(r results.Record) bool {
		return r.Cell.Pattern != "roundtrip" || (r.Cell.Size == 256) != (r.Cell.Placement == "same")
	})
	c := latencyChart("roundtrip", "Round trips")(rowsOf(set))
	want := []string{"one CPU, 256 B messages", "two CPUs, 64 KiB messages"}
	if got := titles(c); !slices.Equal(got, want) {
		t.Errorf("panels %q", got)
	}
	drawn(t, c)
}

// A time is drawn as rough if it is rough itself, not if another time of the same messages is.
func TestEachTimeHasItsOwnDoubt(t *testing.T) {
	r := results.Record{Cell: testCell("ndjson", 4096, "same", "stream")}
	for i := range int64(stat.LeastSamples) {
		due, err := results.NewLatency(slices.Repeat([]int64{1e4 << i}, 40))
		service, err2 := results.NewLatency(slices.Repeat([]int64{1e4}, 40))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		r.Samples = append(r.Samples, results.Sample{ElapsedNS: 1e6, Messages: 40,
			PayloadBytes: 1e4, WireBytes: 1e4,
			Latency: map[string]results.Latency{"due": due, "service": service}})
	}
	all := rowsOf(&results.Set{Records: []results.Record{r}})
	for key, want := range map[string]bool{"due": true, "service": false} {
		c := latencyChart(key, "A message")(all)
		points := c.points()
		if len(points) == 0 || points[0].Doubt != want {
			t.Errorf("%s: %+v", key, points)
		}
	}
}

// sweep is the chunked framing alone, with five chunk sizes.
func sweep() *results.Set {
	set := &results.Set{Environments: []results.Environment{testMachine("run-1", "linux")}}
	for i, spec := range []string{
		"chunked:131072", "chunked:512", "chunked:2048", "chunked:8192", "chunked:32768",
	} {
		for _, r := range testStreams("run-1", 3, 1/(1+float64(i)/10)) {
			if r.Cell.Framing == "chunked:61440" {
				r.Cell.Framing = spec
				set.Records = append(set.Records, r)
			}
		}
	}
	return set
}

func chartNames(charts []Chart) []string {
	var names []string
	for _, c := range charts {
		names = append(names, c.Name)
	}
	return names
}

func titles(c Chart) []string {
	var out []string
	for _, p := range c.Panels {
		out = append(out, p.Title)
	}
	return out
}

func seriesNames(p Panel) []string {
	var out []string
	for _, s := range p.Series {
		out = append(out, s.Name)
	}
	return out
}

// Raw moved in several ways has nothing to be a share of.
func TestRawAloneIsNoShareOfRaw(t *testing.T) {
	set := &results.Set{Environments: []results.Environment{testMachine("run-1", "linux")}}
	for _, r := range testStreams("run-1", 3, 1) {
		if !isRaw(r.Cell.Framing) {
			continue
		}
		for _, transfer := range []string{"", "vmsplice"} {
			r.Cell.Transfer = transfer
			set.Records = append(set.Records, r)
		}
	}
	if c := ratioChart(rowsOf(set)); len(c.Panels) > 0 {
		t.Errorf("panels %q", titles(c))
	}
}

// A figure that a screen marks as rough is in doubt: its point is hollow. Its interval or range is
// drawn, unless it is wider than half of the figure: then it does not stretch the axis.
func TestPointsInDoubtAreHollow(t *testing.T) {
	steady := []int64{1e6, 1.01e6, 1.02e6, 1e6, 1.01e6, 1.02e6}
	for _, tt := range []struct {
		name    string
		elapsed []int64
		doubt   bool
		bar     bool
	}{
		{"one sample", steady[:1], true, false},
		{"two samples", steady[:2], true, true},
		{"six samples", steady, false, true},
		{"a wide range", []int64{1e5, 2e6, 24e6}, true, false},
		{"a wide interval", []int64{1e5, 1e5, 1e5, 2e6, 24e6, 24e6, 24e6, 24e6}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := results.Record{Cell: testCell("ndjson", 4096, "same", "stream")}
			for _, ns := range tt.elapsed {
				r.Samples = append(r.Samples, results.Sample{
					ElapsedNS: ns, Messages: 100, PayloadBytes: 409600,
				})
			}
			other := r
			other.Cell.Size = 65536
			charts := Charts(&results.Set{Records: []results.Record{r, other}})
			p := charts[0].Panels[0].Series[0].Points[0]
			if p.Doubt != tt.doubt || p.hasBar() != tt.bar {
				t.Errorf("point %+v", p)
			}
			svg := string(drawn(t, charts[0]))
			if told := strings.Contains(svg, "/s ["); told != tt.bar {
				t.Errorf("the interval is told where the mouse rests: %v, want %v", told, tt.bar)
			}
			hollow := strings.Count(svg, "fill:#FFFFFF") > 1 // the first is the background
			if hollow != tt.doubt {
				t.Errorf("hollow: %v, want %v", hollow, tt.doubt)
			}
			if said := slices.Contains(charts[0].Notes, doubtNote); said != tt.doubt {
				t.Errorf("the notes are %q", charts[0].Notes)
			}
		})
	}
}
