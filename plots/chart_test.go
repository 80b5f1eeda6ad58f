package plots

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	charts, omitted := Charts(fullSet())
	for _, o := range omitted {
		t.Errorf("a set of everything has no chart of %s", o)
	}
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

// writeData writes what a chart says, a line a series; of a curve the marked points, or some.
func writeData(w io.Writer, c Chart) {
	fmt.Fprintf(w, "# %s: %s\n", c.Name, c.Title)
	for _, line := range append(c.Subtitle, c.Notes...) {
		fmt.Fprintln(w, " ", line)
	}
	fmt.Fprintf(w, "  x: %s, %s; y: %s, %s\n", c.X.Label, c.X.Scale, c.Y.Label, c.Y.Scale)
	for _, p := range c.Panels {
		fmt.Fprintf(w, "- %s %v\n", p.Title, p.Guides)
		for _, s := range p.Series {
			fmt.Fprintf(w, "    %s:", s.title())
			marked := slices.ContainsFunc(s.Points, func(p Point) bool { return p.Mark })
			for i, pt := range s.Points {
				if s.Shape == Curve && (marked && !pt.Mark || !marked && i%(1+len(s.Points)/8) > 0) {
					continue
				}
				fmt.Fprintf(w, " %s %s", c.X.Format(pt.X), c.Y.Format(pt.Y))
				if pt.Low != pt.High {
					fmt.Fprintf(w, " [%s, %s]", c.Y.Format(pt.Low), c.Y.Format(pt.High))
				}
				if pt.Computed {
					fmt.Fprint(w, " computed")
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
	c := onlyChart(t, goodputCharts(testSet()))
	if got := titles(c); !slices.Equal(got, []string{"same: on the same CPU", "apart: on two cores with a shared LLC"}) {
		t.Errorf("panels %q", got)
	}
	want := []string{"raw", "ndjson", "content-length", "chunked:60KiB", "length-prefix"}
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
					t.Errorf("%s at %v: %v is not within [%v, %v]", s.Name, pt.X, pt.Y, pt.Low, pt.High)
				}
			}
		}
		if len(p.Guides) != 1 || p.Guides[0].Value != 65536 {
			t.Errorf("%s: guides %v, want the pipe's capacity", p.Title, p.Guides)
		}
	}
}

func TestOverheadIsExactAndZeroForRaw(t *testing.T) {
	c := onlyChart(t, overheadCharts(testSet()))
	for _, s := range c.Panels[0].Series {
		for _, p := range s.Points {
			switch {
			case s.Name == "raw" && p != exact(p.X, 0):
				t.Errorf("raw at %v: %v", p.X, p)
			case s.Name == "chunked:60KiB" && p.X == 1<<20 && p != exact(1<<20, 100*782.0/(1<<20)):
				t.Errorf("chunked at 1 MiB: %v %%, want 782 bytes", p.Y)
			}
		}
	}
}

func TestCurveEndsWhereTenObservationsAreLeft(t *testing.T) {
	for _, tt := range []struct {
		name  string
		count int
		last  float64 // quantile that it reaches at the most
	}{
		{"nineteen carry no p50", 19, 0},
		{"a thousand carry p99", 1000, 0.99},
		{"ten thousand carry p99.9", 10000, 0.999},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ns := make([]int64, tt.count)
			for i := range ns {
				ns[i] = int64(1000 + i)
			}
			l, err := results.NewLatency(ns)
			if err != nil {
				t.Fatal(err)
			}
			points := curve(l)
			if tt.last == 0 {
				if points != nil {
					t.Fatalf("%d points", len(points))
				}
				return
			}
			last := points[len(points)-1]
			if d := ninesOf(last.X) - ninesOf(tt.last); d > 1e-6 || d < -curveStep {
				t.Errorf("ends at %v, want %v", last.X, tt.last)
			}
			if !slices.IsSortedFunc(points, func(a, b Point) int { return compareFloats(a.X, b.X) }) || !slices.IsSortedFunc(points, func(a, b Point) int { return compareFloats(a.Y, b.Y) }) {
				t.Error("a distribution's curve never turns back")
			}
		})
	}
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestLinesAreWhatVaries(t *testing.T) {
	set := testSet()
	set.Records = slices.DeleteFunc(set.Records, func(r results.Record) bool { return r.Cell.Framing != "ndjson" })
	for _, io := range []string{"spin", "sleep=10ms"} {
		for _, r := range testSet().Records {
			if r.Cell.Framing == "ndjson" {
				r.Cell.IO = io
				set.Records = append(set.Records, r)
			}
		}
	}
	c := onlyChart(t, goodputCharts(set))
	if got, want := seriesNames(c.Panels[0]), []string{"blocking", "spin", "sleep=10ms"}; !slices.Equal(got, want) {
		t.Errorf("lines %q, want %q", got, want)
	}
}

func TestOneSizeIsLaidOutByName(t *testing.T) {
	set := testSet()
	set.Records = slices.DeleteFunc(set.Records, func(r results.Record) bool { return r.Cell.Size != 65536 })
	for _, c := range append(goodputCharts(set), append(ratioCharts(set), overheadCharts(set)...)...) {
		if want := []string{"raw", "ndjson", "content-length", "chunked:60KiB", "length-prefix"}; !slices.Equal(c.X.Categories, want) {
			t.Errorf("%s: names %q, want %q", c.Name, c.X.Categories, want)
		}
		if strings.Contains(c.Title, "size") {
			t.Errorf("%s is titled %q", c.Name, c.Title)
		}
		for _, p := range c.Panels {
			for i, s := range p.Series {
				if len(s.Points) != 1 || s.Points[0].X != float64(i) {
					t.Errorf("%s: %s stands at %v", c.Name, s.Name, s.Points)
				}
			}
		}
		drawn(t, c)
	}
}

// TestOrderIsNotThatOfTheRecords shuffles the records, as an engine that interleaves them does.
func TestOrderIsNotThatOfTheRecords(t *testing.T) {
	want, _ := Charts(testSet())
	set := testSet()
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(set.Records), func(i, k int) { set.Records[i], set.Records[k] = set.Records[k], set.Records[i] })
	got, _ := Charts(set)
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Chart{})); d != "" {
		t.Errorf("the order of the records shows (-sorted +shuffled):\n%s", d)
	}
}

func TestWhatElseVariesMakesFiles(t *testing.T) {
	set := testSet()
	for _, r := range testStreams("run-1", 9, 0.5) {
		r.Cell.Pipe = "fifo"
		set.Records = append(set.Records, r)
	}
	set.Environments = append(set.Environments, testMachine("run-2", "darwin"))
	set.Records = append(set.Records, testStreams("run-2", 11, 2)...)
	var got []string
	for _, c := range goodputCharts(set) {
		got = append(got, c.Name)
	}
	want := []string{"goodput-linux_amd64-anonymous", "goodput-linux_amd64-fifo", "goodput-darwin_arm64-anonymous"}
	if !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
}

func TestChunkSweepHasItsOwnChart(t *testing.T) {
	c := onlyChart(t, chunkCharts(sweep()))
	longest := 0
	for _, s := range c.series() {
		longest = max(longest, len(s.Points))
	}
	if c.Name != "chunk-chunked" || longest != 5 {
		t.Errorf("%s with %d points", c.Name, longest)
	}
	g := onlyChart(t, goodputCharts(sweep()))
	if got, want := seriesNames(g.Panels[0]), []string{"chunked:512B", "chunked:8KiB", "chunked:128KiB"}; !slices.Equal(got, want) {
		t.Errorf("goodput shows %q, want %q", got, want)
	}
}

func TestAChartOfOnePointIsLeftOutBesideOthers(t *testing.T) {
	set := testSet()
	alone := set.Records[2]
	alone.Cell.IO = "spin"
	set.Records = append(set.Records, alone)
	charts, omitted := Charts(set)
	if !slices.ContainsFunc(omitted, func(o Omission) bool { return o.Name == "goodput-spin" }) {
		t.Errorf("nothing is said of goodput-spin: %v", omitted)
	}
	if slices.Contains(chartNames(charts), "goodput-spin") || !slices.Contains(chartNames(charts), "goodput-blocking") {
		t.Errorf("charts %q", chartNames(charts))
	}
	only := &results.Set{Records: []results.Record{alone}}
	if charts, _ := Charts(only); !slices.Contains(chartNames(charts), "goodput") {
		t.Error("the only point there is should be drawn")
	}
}

func TestRecordedMessagesAreDrawnByName(t *testing.T) {
	set := testSet()
	for _, r := range testStreams("run-1", 5, 1) {
		if r.Cell.Size == 4096 {
			r.Cell.Size, r.Cell.Payload, r.Cell.Messages = 0, "recorded", "3fa1"
			set.Records = append(set.Records, r)
		}
	}
	charts, _ := Charts(set)
	i := slices.Index(chartNames(charts), "goodput-recorded")
	if i < 0 {
		t.Fatalf("charts %q", chartNames(charts))
	}
	if c := charts[i]; c.X.Scale != Category || len(c.points()) != 2*len(testFramings) {
		t.Errorf("%d points on a %s axis", len(c.points()), c.X.Scale)
	}
}

func TestMachinesHaveNamesOfTheirOwn(t *testing.T) {
	set := &results.Set{}
	for i, host := range []string{"a", "b", "runner", "runner", ""} {
		e := testMachine(fmt.Sprint("run-", i), "linux")
		e.Machine, e.Hostname = fmt.Sprintf("%08d-rest", i), host
		set.Environments = append(set.Environments, e)
	}
	imitation := testMachine("run-wine", "windows")
	imitation.Imitation = "imitated by Wine"
	set.Environments = append(set.Environments, testMachine("run-mac", "darwin"), imitation)
	var got []string
	for _, id := range append(set.Machines(), "lost") {
		got = append(got, set.MachineName(id))
	}
	want := []string{"linux/amd64 a", "linux/amd64 b", "linux/amd64 00000002", "linux/amd64 00000003", "linux/amd64 00000004", "darwin/arm64", "windows/amd64, imitated by Wine", "unknown"}
	if !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
}

// Round trips of which each size was measured in a placement of its own have a panel for each size and
// placement, in rows.
func TestEachSizeInAPlacementOfItsOwn(t *testing.T) {
	set := testSet()
	set.Records = slices.DeleteFunc(set.Records, func(r results.Record) bool {
		return r.Cell.Pattern != "roundtrip" || (r.Cell.Size == 256) != (r.Cell.Placement == "same")
	})
	charts := latencyCharts(set)
	if len(charts) == 0 {
		t.Fatal("no chart")
	}
	if got, want := titles(charts[0]), []string{"same · 256 B messages", "apart · 256 B messages", "same · 64 KiB messages", "apart · 64 KiB messages"}; !slices.Equal(got, want) {
		t.Errorf("panels %q", got)
	}
	drawn(t, charts[0])
}

// sweep is the chunked framing alone, with five chunk sizes.
func sweep() *results.Set {
	set := &results.Set{Environments: []results.Environment{testMachine("run-1", "linux")}}
	for i, spec := range []string{"chunked:131072", "chunked:512", "chunked:2048", "chunked:8192", "chunked:32768"} {
		for _, r := range testStreams("run-1", 3, 1/(1+float64(i)/10)) {
			if r.Cell.Framing == "chunked:61440" {
				r.Cell.Framing = spec
				set.Records = append(set.Records, r)
			}
		}
	}
	return set
}

func onlyChart(t *testing.T, charts []Chart) Chart {
	t.Helper()
	if len(charts) != 1 {
		t.Fatalf("%d charts, want one", len(charts))
	}
	return charts[0]
}

func chartNames(charts []Chart) []string {
	return stat.Map(charts, func(c Chart) string { return c.Name })
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

// withStrategies is the model with other ways of waiting, which meet more refusals the less they
// wait.
func withStrategies() *results.Set {
	set := testSet()
	for i, io := range []string{"poller", "poll", "spin"} {
		for _, r := range modelRun() {
			r.Cell.IO = io
			r.Samples = slices.Clone(r.Samples)
			for k := range r.Samples {
				r.Samples[k].Writer.EAGAIN = new(int64(i * 100))
			}
			set.Records = append(set.Records, r)
		}
	}
	return set
}

func TestStrategiesAreHeldAgainstEachOther(t *testing.T) {
	charts := counterCharts(withStrategies())
	var names []string
	for _, c := range charts {
		names = append(names, c.Name)
		drawn(t, c)
	}
	if want := []string{"io-same", "io-apart", "eagain-same", "eagain-apart"}; !slices.Equal(names, want) {
		t.Fatalf("charts %q, want %q", names, want)
	}
	met := charts[2].Panels[0]
	refused := met.Series[0]
	if met.Title != "raw · calls refused (EAGAIN)" || len(refused.Points) != 4 {
		t.Fatalf("%s has %d points", met.Title, len(refused.Points))
	}
	for i, p := range refused.Points {
		if i > 0 && p.Y < refused.Points[i-1].Y {
			t.Errorf("%s meets %v refusals a MiB, fewer than the strategy before", charts[2].X.Categories[i], p.Y)
		}
	}
}

// Raw moved in several ways has nothing to be a share of.
func TestRawAloneIsNoShareOfRaw(t *testing.T) {
	set := &results.Set{Environments: []results.Environment{testMachine("run-1", "linux")}}
	for _, r := range testStreams("run-1", 3, 1) {
		if !isRaw(r.Cell.Framing) {
			continue
		}
		for _, transfer := range []string{"", "splice"} {
			r.Cell.Transfer = transfer
			set.Records = append(set.Records, r)
		}
	}
	if got := chartNames(ratioCharts(set)); len(got) > 0 {
		t.Errorf("charts %q", got)
	}
}
