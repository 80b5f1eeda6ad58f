package plots

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// Each end of the title of overhead has the framing that adds most there. An end that nothing is
// known of is left out.
func TestOverheadTitle(t *testing.T) {
	type wire struct{ small, large int64 } // of 1000 and 100000 bytes of payload
	for _, tt := range []struct {
		name    string
		framing map[string]wire
		empty   bool // the small messages carried nothing
		want    string
	}{
		{"one framing", map[string]wire{"content-length": {1020, 100020}, "ndjson": {1001, 100001}},
			false, "Framing adds at most 2.0 % at 1,000 B, 0.020 % at 100,000 B"},
		{"two framings",
			map[string]wire{"content-length": {1020, 100020}, "ndjson": {1001, 101000}}, false,
			"Framing adds at most 2.0 % at 1,000 B, 1.0 % at 100,000 B"},
		{"no payload", map[string]wire{"content-length": {1020, 100020}, "ndjson": {1001, 100001}},
			true, "Bytes that framing adds, by message size"},
		{"raw alone", map[string]wire{"raw": {1000, 100000}},
			false, "Bytes that framing adds, by message size"},
	} {
		set := &results.Set{}
		for framing, w := range tt.framing {
			small := results.Record{Cell: testCell(framing, 1000, "same", "stream")}
			large := results.Record{Cell: testCell(framing, 100000, "same", "stream")}
			small.Samples = []results.Sample{{ElapsedNS: 1e6, Messages: 1, PayloadBytes: 1000,
				WireBytes: w.small}}
			large.Samples = []results.Sample{{ElapsedNS: 1e6, Messages: 1, PayloadBytes: 100000,
				WireBytes: w.large}}
			if tt.empty {
				small.Samples[0].PayloadBytes = 0
			}
			set.Add(small)
			set.Add(large)
		}
		if c := overheadChart(rowsOf(set)); c.Title != tt.want {
			t.Errorf("%s: title %q, want %q", tt.name, c.Title, tt.want)
		}
	}
}

// The picture of ratios has the figures of the text in its title, but not the whole sentence.
func TestRatioTitleHasTheTextsFigures(t *testing.T) {
	const want = "Framings reach 65 to 87 % of raw's speed on one CPU at 64 KiB (±6 % or less)"
	for _, set := range []*results.Set{fullSet(), testSet()} {
		if title := chartOfName(t, set, "ratio").Title; title != want {
			t.Errorf("title %q", title)
		}
		told := view.Summarise(set).Meaning[0]
		figures := []string{"60 KiB chunks 65 %", "length-prefix 87 %", "±6 % or less"}
		for _, figure := range figures {
			if !strings.Contains(told, figure) {
				t.Errorf("no %q in the text:\n%s", figure, told)
			}
		}
	}
}

// The level line of ndjson is that of a row in the same setting.
func TestTheLevelLineIsOfTheSameSetting(t *testing.T) {
	const chunked = "chunked, 64 KiB messages"
	for _, tt := range []struct {
		name   string
		change func(*results.Cell)
		want   []string
	}{
		{"the same", func(*results.Cell) {}, []string{chunked, "ndjson"}},
		{"another size", func(c *results.Cell) { c.Size = 4096 }, []string{chunked}},
		{"another io", func(c *results.Cell) { c.IO = "poller/blocking" }, []string{chunked}},
	} {
		set := &results.Set{}
		framings := []string{"ndjson", "chunked:4096", "chunked:8192", "chunked:16384"}
		for _, framing := range framings {
			r := results.Record{Cell: testCell(framing, 65536, "same", "stream")}
			r.Samples = []results.Sample{{ElapsedNS: 1e6, Messages: 9, PayloadBytes: 1e6}}
			if framing == "ndjson" {
				tt.change(&r.Cell)
			}
			set.Add(r)
		}
		c := chunkChart(rowsOf(set))
		if got := seriesNames(c.Panels[0]); !slices.Equal(got, tt.want) {
			t.Errorf("%s: lines %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Framings without chunks are no chunk size: two sizes leave the chart of goodput as it is.
func TestTwoChunkSizesStandInTheChartOfGoodput(t *testing.T) {
	set := &results.Set{}
	for _, framing := range []string{"raw", "ndjson", "chunked:4096", "chunked:61440"} {
		r := results.Record{Cell: testCell(framing, 65536, "same", "stream")}
		r.Samples = []results.Sample{{ElapsedNS: 1e6, Messages: 9, PayloadBytes: 1e6}}
		set.Add(r)
	}
	chartOfName(t, set, "goodput")
}

// Many sizes of chunks neither look like each other nor have the colour of another framing.
func TestManyChunkSizesLookDifferent(t *testing.T) {
	var panel Panel
	names := []string{"length-prefix"}
	for _, size := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"} {
		names = append(names, "chunked:"+size)
	}
	for _, name := range names {
		panel.Series = append(panel.Series, Series{Name: name})
	}
	styles := assignStyles(Chart{Panels: []Panel{panel}})
	for i, a := range names {
		for _, b := range names[:i] {
			alike := styles[a].color == styles[b].color
			if b == "length-prefix" && alike {
				t.Errorf("%s has the colour of %s", a, b)
			}
			first, isPolygon := styles[a].marker.(polygon)
			second, areBoth := styles[b].marker.(polygon)
			if isPolygon && areBoth {
				alike = alike && slices.Equal(first, second)
			} else {
				alike = alike && !isPolygon && !areBoth && styles[a].marker == styles[b].marker
			}
			if alike {
				t.Errorf("%s looks like %s", a, b)
			}
		}
	}
}

// Times of fewer than six samples are in doubt, and the title claims none.
func TestRoughTimesAreNotClaimed(t *testing.T) {
	set := fullSet()
	for _, tt := range []struct {
		samples int
		doubt   bool
	}{{6, false}, {5, true}} {
		own := &results.Set{}
		for _, r := range set.Records {
			if r.Cell.Pattern == results.PatternRoundtrip {
				for len(r.Samples) < tt.samples {
					r.Samples = append(r.Samples, r.Samples[0])
				}
				r.Samples = r.Samples[:tt.samples]
				own.Add(r)
			}
		}
		c := chartOfName(t, own, "roundtrip")
		claims := strings.Contains(c.Title, "(median of messages)")
		if claims == tt.doubt || c.points()[0].Doubt != tt.doubt {
			t.Errorf("%d samples: title %q, %+v", tt.samples, c.Title, c.points()[0])
		}
	}
}

func TestChunkTitle(t *testing.T) {
	const none = "No difference in goodput seen between chunk sizes; more samples may tell more"
	const loss = "Chunks of 4 KiB carry 20 % less per second than chunks of 8 KiB (one CPU, " +
		"1 MiB messages)"
	doubtful := Point{X: 1, Y: 50, Low: 1, High: 99, Doubt: true}
	for _, tt := range []struct {
		name   string
		points []Point
		want   string
	}{
		{"a loss", []Point{exact(0, 80), exact(1, 100)}, loss},
		{"a loss beside a size that is uncertain",
			[]Point{exact(0, 80), exact(1, 100), {X: 2, Y: 101, Low: 70, High: 130}}, loss},
		{"a tiny loss", []Point{exact(0, 99.7), exact(1, 100)}, none},
		{"in doubt", []Point{exact(0, 80), doubtful},
			"Too noisy to tell what the size of chunks does to goodput; more samples may " +
				"tell more"},
	} {
		c := Chart{X: Axis{Places: []string{"4 KiB", "8 KiB", "16 KiB"}}}
		line := Series{Name: "chunked, 1 MiB messages", Points: tt.points}
		c.Panels = []Panel{{Title: "one CPU", Series: []Series{line}}}
		if got := c.chunkTitle(); got != tt.want {
			t.Errorf("%s: title %q, want %q", tt.name, got, tt.want)
		}
	}
}
