package plots

import (
	"slices"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// The picture of ratios has the sentence of the text as its title.
func TestRatioTitleIsTheTextsSentence(t *testing.T) {
	for _, set := range []*results.Set{fullSet(), testSet()} {
		told := view.Summarise(set).Meaning[0]
		if title := chartOfName(t, set, "ratio").Title; title+"." != told {
			t.Errorf("title %q; the text is\n%s", title, told)
		}
	}
}

// The level line of ndjson is that of a row in the same setting.
func TestTheLevelLineIsOfTheSameSetting(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*results.Cell)
		want   []string
	}{
		{"the same", func(*results.Cell) {}, []string{"chunked", "ndjson"}},
		{"another size", func(c *results.Cell) { c.Size = 4096 }, []string{"chunked"}},
		{"another io", func(c *results.Cell) { c.IO = "poller/blocking" }, []string{"chunked"}},
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

// Times of fewer than six samples are in doubt.
func TestRoughTimesAreInDoubt(t *testing.T) {
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
		if c.points()[0].Doubt != tt.doubt {
			t.Errorf("%d samples: %+v", tt.samples, c.points()[0])
		}
	}
}
