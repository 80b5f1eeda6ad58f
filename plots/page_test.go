package plots

import (
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/pipebench/pipebench/results"
)

// The line of a server that fails ends in a cross, and what lies beyond its limit is red and named.
func TestALineEndsInACrossWhereAServerFails(t *testing.T) {
	var set results.Set
	for _, size := range []int64{1024, 2048, 4096} {
		set.Targets = append(set.Targets, results.Target{Command: []string{"server"}, Size: size, Verdict: results.VerdictOK,
			Samples: []results.Sample{{ElapsedNS: 1e6 + size, Messages: 1}}})
	}
	whole := onlyChart(t, targetCharts(&set)).Panels[0]
	set.Targets = append(set.Targets, results.Target{Command: []string{"server"}, Size: 8192, Verdict: "deaf"},
		results.Target{Command: []string{"server"}, Verdict: "deaf", RequestLimit: new(int64(5000))})
	broken := onlyChart(t, targetCharts(&set)).Panels[0]
	if whole.Series[0].Points[2].Cross || len(whole.Regions) > 0 {
		t.Errorf("a server that works: %+v", whole)
	}
	points := broken.Series[0].Points
	if len(points) != 3 || points[1].Cross || !points[2].Cross {
		t.Errorf("points %+v", points)
	}
	if want := []Region{{From: 5001, To: math.Inf(1), Label: "no reply, process alive", Bad: true}}; !slices.Equal(broken.Regions, want) {
		t.Errorf("regions %+v, want %+v", broken.Regions, want)
	}
}

// An interval wider than half of its figure neither is drawn nor stretches the axis.
func TestTooNoisyIsSaid(t *testing.T) {
	var set results.Set
	for _, size := range []int{1024, 4096} {
		r := results.Record{Cell: testCell("ndjson", size, "same", "stream")}
		for fork := range 2 {
			for range 6 {
				ns := int64(1e6 + 1e3*len(r.Samples))
				if size == 4096 && fork == 1 {
					ns *= 3 // two forks that differ: nobody knows
				}
				r.Samples = append(r.Samples, results.Sample{Fork: fork + 1, Round: len(r.Samples) + 1, ElapsedNS: ns, Messages: 100, PayloadBytes: 100 * int64(size)})
			}
		}
		set.Records = append(set.Records, r)
	}
	charts, _, _ := makeCharts(&set)
	points := charts[0].Panels[0].Series[0].Points
	if points[0].Noisy || !points[1].Noisy || points[1].High < 24*points[1].Low {
		t.Fatalf("points %+v", points)
	}
	if f := newAxes(charts[0], 0, 1, 400); f.y.max >= f.y.at(points[1].High) {
		t.Errorf("the axis ends at %v, with the interval", f.y.max)
	}
	if notes := strings.Join(charts[0].Notes, " "); !strings.Contains(notes, "too noisy") {
		t.Errorf("notes %q", notes)
	}
	if text := (axes{chart: charts[0]}).tell(charts[0].Panels[0].Series[0], points[1]); !strings.Contains(text, "too noisy") || !strings.Contains(text, "12 samples") {
		t.Errorf("a page says %q", text)
	}
}

// So is the range of samples too few for an interval.
func TestAWideRangeIsTooNoisy(t *testing.T) {
	r := results.Record{Cell: testCell("ndjson", 4096, "same", "stream")}
	for _, ns := range []int64{1e5, 2e6, 24e6} {
		r.Samples = append(r.Samples, results.Sample{ElapsedNS: ns, Messages: 100, PayloadBytes: 409600})
	}
	c := goodputCharts(&results.Set{Records: []results.Record{r}})[0]
	p := c.points()[0]
	if f := newAxes(c, 0, 1, 400); !p.Noisy || f.y.max >= f.y.at(p.High) {
		t.Errorf("%+v on an axis up to %v", p, f.y.max)
	}
}

// The labels of an axis do not cover each other, beside names of lines either.
func TestValuesHaveRoomBelowAPanel(t *testing.T) {
	charts, _ := Charts(fullSet())
	named := false
	for _, c := range charts {
		for _, page := range []bool{false, true} {
			f := newLayout(c, page)
			width := (pictureWidth-2*margin+gapX)/vg.Length(f.columns) - gapX
			if page {
				width = pagePanelWidth
			}
			x := f.axes[0].x
			named = named || f.axes[0].direct
			var end vg.Length
			for _, tick := range x.ticks {
				if tick.Label == "" || tick.Value < x.min || tick.Value > x.max || c.X.Scale == Category {
					continue
				}
				at := (width - 70) * vg.Length((tick.Value-x.min)/(x.max-x.min))
				half := textStyle(8.5, foreground, false).Width(tick.Label) / 2
				if end > 0 && at-half < end {
					t.Errorf("%s: %s covers what is left of it", c.Name, tick.Label)
				}
				end = at + half
			}
		}
	}
	if !named {
		t.Error("no chart names its lines at their ends")
	}
}

// Lines are named at their ends where there is room, else by a legend.
func TestLinesAreNamedAtTheirEnds(t *testing.T) {
	for _, row := range []struct {
		c      Chart
		direct bool
	}{{onlyChart(t, overheadCharts(testSet())), true}, {latencyCharts(testSet())[0], false}} {
		f := newLayout(row.c, false)
		if f.axes[0].direct != row.direct || (len(f.legend) == 0) != row.direct {
			t.Errorf("%s: at their ends %t, legend %v", row.c.Name, f.axes[0].direct, f.legend)
		}
	}
}

func TestLinesThatAreAlikeAreOne(t *testing.T) {
	line := func(name string, y float64) Series {
		return Series{Name: name, Points: []Point{exact(1, 1), exact(2, y)}}
	}
	c := Chart{Panels: []Panel{
		{Series: []Series{line("ndjson", 2), line("chunked", 3), line("adaptive", 2), line("raw", 2)}},
		{Series: []Series{line("ndjson", 5), line("chunked", 5), line("adaptive", 5), line("raw", 6)}},
	}}
	for i := range c.Panels {
		for _, name := range []string{"ndjson as documented", "chunked as documented"} {
			rule := line(name, 4)
			rule.Reference = true
			c.Panels[i].Series = append(c.Panels[i].Series, rule)
		}
	}
	c.styles = assignStyles(c.legend())
	c.joinAlike()
	for _, p := range c.Panels {
		want := []string{"ndjson, adaptive", "chunked", "raw", "ndjson as documented, chunked as documented"}
		if got := seriesNames(p); !slices.Equal(got, want) {
			t.Errorf("series %q", got)
		}
	}
	if got, want := c.styles["ndjson, adaptive"].color, c.styles["ndjson"].color; got != want {
		t.Errorf("the colour of both is %v, that of the first alone %v", got, want)
	}
}

// A name has one look in all pictures of a set, and two names of a picture never have the same.
func TestANameLooksTheSameInAllCharts(t *testing.T) {
	charts, _ := Charts(fullSet())
	looks := map[string]string{}
	for _, c := range charts {
		f := newLayout(c, true)
		own := map[string]string{}
		for _, s := range c.legend() {
			look := fmt.Sprint(f.axes[0].styles[s.Name].color, f.axes[0].styles[s.Name].marker)
			if before, ok := looks[s.Name]; ok && before != look {
				t.Errorf("%s: %s looks like %s, elsewhere like %s", c.Name, s.Name, look, before)
			}
			if other, ok := own[look]; ok && !s.Reference {
				t.Errorf("%s: %s and %s look the same", c.Name, s.Name, other)
			}
			looks[s.Name], own[look] = look, s.Name
		}
	}
}

// Pictures of several machines have the same axes.
func TestMachinesShareAxes(t *testing.T) {
	charts, _ := Charts(fullSet())
	var ends []string
	for _, c := range charts {
		if strings.HasPrefix(c.Name, "goodput-") {
			ends = append(ends, fmt.Sprint(newAxes(c, 0, 1, 400).y))
		}
	}
	if len(ends) < 2 || len(slices.Compact(slices.Clone(ends))) != 1 {
		t.Errorf("axes %q", ends)
	}
}

// manyMessages is a recording, the last message first, of which every hundredth has a body of so many
// words.
func manyMessages(n, body int) []results.Message {
	var out []results.Message
	for i := range n {
		m := results.Message{Kind: results.KindMessage, Run: "run-1", Dir: "request", T: int64(n-i) * 1e6, Size: int64(100 + i*7919%5000), Method: "tools/call", ID: json.RawMessage(fmt.Sprint(i))}
		if i%100 == 0 {
			m.Cuts, m.CutNS, m.Body = []int64{60, 40}, []int64{0, 9000}, strings.Repeat(fmt.Sprint(i*i, " "), body)
		}
		out = append(out, m)
	}
	return out
}

// A page holds all of a recording of a hundred thousand messages, in the order of their times; of
// larger ones it has shorter bodies, and says which messages it leaves out.
func TestARecordingIsPacked(t *testing.T) {
	for _, row := range []struct {
		messages, body, kept int
	}{{100_000, 1, 100_000}, {20_000, 1000, 20_000}} {
		packed, note := pack(manyMessages(row.messages, row.body))
		var got []results.Message
		unpacked := flate.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
		if err := json.NewDecoder(unpacked).Decode(&got); err != nil {
			t.Fatal(err)
		}
		if len(got) != row.kept || note != "" || len(packed) > maxRecording {
			t.Errorf("%d messages in %d bytes: %d kept (%s)", row.messages, len(packed), len(got), note)
		}
		if last := got[len(got)-1]; got[0].T != 1e6 || last.T != int64(row.messages)*1e6 || string(last.ID) != "0" || len(last.Cuts) != 2 || !strings.HasPrefix(last.Body, "0 ") {
			t.Errorf("from %+v to %+v", got[0], got[len(got)-1])
		}
	}
}

// The page of a run is light, whatever it can do.
func TestAPageIsLight(t *testing.T) {
	if n := len(runPage(t)); n > 600_000 {
		t.Errorf("%d bytes", n)
	}
}
