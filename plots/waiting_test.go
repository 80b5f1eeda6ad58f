package plots

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// Writers that do not block have charts of their own, and no part in those of the framings.
func TestWaitingWritersHaveTheirCharts(t *testing.T) {
	set := testSet()
	before := Charts(set)
	for _, r := range testStreams("run-1", 3, 1) {
		for i, io := range []string{"poll/blocking", "sleep=10ms/blocking"} {
			for _, reader := range []results.Cell{{}, {Drain: 50e6}, {ClosesAfter: 1}} {
				waits := r
				waits.Cell.IO, waits.Cell.Drain, waits.Cell.ClosesAfter = io, reader.Drain, reader.ClosesAfter
				waits.Samples = slices.Clone(r.Samples)
				for k := range waits.Samples {
					waits.Samples[k].Writer.EAGAIN = new(int64(7))
					if reader.ClosesAfter > 0 {
						waits.Samples[k].Closed = &results.Closed{ToldNS: int64(1 + 999*i),
							Error: "EPIPE"}
					}
				}
				if r.Cell.Placement == "same" && (r.Cell.Size == 4096 || r.Cell.Size == 65536) {
					set.Add(waits)
				}
			}
		}
	}
	charts := Charts(set)
	if len(charts) != len(before)+1 {
		t.Errorf("charts %q, %d without them", chartNames(charts), len(before))
	}
	c := chartOfName(t, set, "waiting")
	for _, p := range c.Panels[8:] {
		if strings.HasPrefix(p.Title, "time to EPIPE") && p.Series[0].Points[0].Doubt {
			t.Errorf("%s is in doubt, though its bar is a range", p.Title)
		}
	}
	if len(c.Panels) != mostPanels || len(c.names()) != 2 {
		t.Errorf("panels %q, series %q", titles(c), c.names())
	}
	if !strings.HasPrefix(titles(c)[0], "EAGAIN per message, framing ") {
		t.Errorf("panels %q", titles(c))
	}
	if c.Title != "What non-blocking writers meet" { // both ways keep as much here
		t.Errorf("title %q", c.Title)
	}
}

// Cells that differ in capacity and write size have a picture of their own; the one that is sent
// whole through the default pipe stands in those that compare framings, too.
func TestLeversHaveTheirChart(t *testing.T) {
	set := testSet()
	for _, r := range testStreams("run-1", 7, 1) {
		if r.Cell.Framing != "ndjson" || r.Cell.Size != 65536 {
			continue
		}
		for _, capacity := range []int{65536, 1 << 20} {
			for _, size := range []int{0, 8192} {
				if capacity == 65536 && size == 0 {
					continue // it is there
				}
				lever := r
				lever.Cell.Capacity, lever.Cell.WriteSize = capacity, size
				lever.Samples = slices.Clone(r.Samples)
				for k := range lever.Samples {
					lever.Samples[k].Capacity = capacity // as it is read back
				}
				set.Add(lever)
			}
		}
	}
	c := chartOfName(t, set, "write-size")
	if got := c.X.Places; !slices.Equal(got, []string{"whole", "8 KiB"}) {
		t.Errorf("columns %q", got)
	}
	for _, p := range c.Panels {
		if len(p.Series) != 2 || len(p.Series[0].Points) != 2 || len(p.Series[1].Points) != 2 {
			t.Errorf("panel %q: %+v", p.Title, p.Series)
		}
	}
	want := "Neither a larger pipe nor smaller writes carry 64 KiB much faster"
	if c.Title != want {
		t.Errorf("title %q, want %q", c.Title, want)
	}
}

// inWrites returns records of 1,000,000 B messages that were sent in writes of several sizes. It
// takes the nanoseconds of each sample, by the size of the writes.
func inWrites(placement string, times map[int][]int64) *results.Set {
	set := &results.Set{}
	for _, writeSize := range slices.Sorted(maps.Keys(times)) {
		r := results.Record{Cell: testCell("ndjson", 1_000_000, placement, "stream")}
		r.Cell.WriteSize = writeSize
		for _, ns := range times[writeSize] {
			r.Samples = append(r.Samples,
				results.Sample{ElapsedNS: ns, Messages: 9, PayloadBytes: 9e6})
		}
		set.Add(r)
	}
	return set
}

// A rough gain has no figure in the title, and yields to one that has.
func TestARoughGainHasNoFigure(t *testing.T) {
	set := inWrites("same", map[int][]int64{
		0:    slices.Repeat([]int64{30e6, 120e6}, 6),
		8192: slices.Repeat([]int64{10e6}, 12),
	})
	c := chartOfName(t, set, "write-size")
	const hidden = "On one CPU, writes of 8 KiB compared with whole messages in a pipe of " +
		"64 KiB: certainly faster (by how much, noise hides)"
	if c.Title != hidden {
		t.Errorf("title %q, want %q", c.Title, hidden)
	}
	for _, r := range slices.Clone(set.Records) {
		r.Cell.Placement = "apart"
		sample := results.Sample{ElapsedNS: 10e6, Messages: 9, PayloadBytes: 9e6}
		if r.Cell.WriteSize == 0 {
			sample.ElapsedNS = 15e6
		}
		r.Samples = slices.Repeat([]results.Sample{sample}, 12)
		set.Add(r)
	}
	c = chartOfName(t, set, "write-size")
	const sure = "On two CPUs, writes of 8 KiB compared with whole messages in a pipe of " +
		"64 KiB: 1.5 times as fast"
	if c.Title != sure {
		t.Errorf("title %q, want %q", c.Title, sure)
	}
}

// The title claims a gain if the text does: by the ratios of the rounds, of which one is too small
// here, though all samples of the larger pipe are faster than those of the usual one.
func TestAGainIsJudgedByItsRounds(t *testing.T) {
	set := &results.Set{}
	for _, tt := range []struct {
		capacity, writeSize int
		ns                  []int64
	}{
		{65536, 0, []int64{15e6, 15e6, 15e6, 15e6, 15e6, 11e6}},
		{65536, 8192, []int64{15e6, 15e6, 15e6, 15e6, 15e6, 11e6}},
		{1 << 20, 0, []int64{8e6, 8e6, 8e6, 8e6, 8e6, 10.5e6}},
	} {
		r := results.Record{Cell: testCell("ndjson", 1_000_000, "same", "stream")}
		r.Cell.Capacity = tt.capacity
		r.Cell.WriteSize = tt.writeSize
		for _, ns := range tt.ns {
			r.Samples = append(r.Samples,
				results.Sample{ElapsedNS: ns, Messages: 9, PayloadBytes: 9e6})
		}
		set.Add(r)
	}
	c := chartOfName(t, set, "write-size")
	want := "Too noisy to tell whether a larger pipe or smaller writes carry 1,000,000 B " +
		"faster on one CPU; more samples may tell more"
	if c.Title != want {
		t.Errorf("title %q, want %q", c.Title, want)
	}
}

// A gain that is the same in all rounds is told, though other programs disturb the rounds so much
// that the points are hollow: the text of tune tells it, too.
func TestAGainOfHollowPointsIsTold(t *testing.T) {
	set := inWrites("apart", map[int][]int64{
		0:    slices.Repeat([]int64{20e6, 80e6}, 6),
		8192: slices.Repeat([]int64{10e6, 40e6}, 6),
	})
	c := chartOfName(t, set, "write-size")
	const want = "On two CPUs, writes of 8 KiB compared with whole messages in a pipe of " +
		"64 KiB: 2.0 times as fast"
	if c.Title != want {
		t.Errorf("title %q, want %q", c.Title, want)
	}
}

// A larger pipe that adds next to nothing to smaller writes is not in the title.
func TestTheTitleNamesTheSimplerSetting(t *testing.T) {
	set := inWrites("apart", map[int][]int64{
		0: slices.Repeat([]int64{20e6}, 12), 8192: slices.Repeat([]int64{10e6}, 12),
	})
	larger := inWrites("apart", map[int][]int64{8192: slices.Repeat([]int64{9.9e6}, 12)})
	larger.Records[0].Cell.Capacity = 1 << 20
	set.Add(larger.Records[0])
	c := chartOfName(t, set, "write-size")
	const want = "On two CPUs, writes of 8 KiB compared with whole messages in a pipe of "
	if !strings.HasPrefix(c.Title, want) {
		t.Errorf("title %q, want %q", c.Title, want)
	}
}

// Each framing that was sent in smaller writes has its panels, and the title speaks of the one that
// gains most beyond the noise.
func TestWriteSizesOfSeveralFramings(t *testing.T) {
	set := testSet()
	for i, framing := range []string{"ndjson", "raw", "content-length"} {
		for _, r := range testStreams("run-1", 3, 1+float64(i)) {
			if r.Cell.Framing != framing || r.Cell.Size != 65536 {
				continue
			}
			r.Cell.WriteSize = 8192
			r.Samples = slices.Clone(r.Samples)
			for k := range r.Samples {
				if framing == "content-length" && k%2 > 0 { // the fastest, but noisy
					r.Samples[k].ElapsedNS *= 9
				}
			}
			set.Add(r)
		}
	}
	c := chartOfName(t, set, "write-size")
	want := []string{"one CPU, framing raw", "two CPUs, framing raw", "one CPU, framing ndjson",
		"two CPUs, framing ndjson", "one CPU, framing content-length",
		"two CPUs, framing content-length"}
	if got := titles(c); !slices.Equal(slices.Sorted(slices.Values(got)),
		slices.Sorted(slices.Values(want))) {
		t.Errorf("panels %q", got)
	}
	if !strings.Contains(c.Title, "framing raw") {
		t.Errorf("title %q", c.Title)
	}
}

func chartOfName(t *testing.T, set *results.Set, name string) Chart {
	t.Helper()
	charts := Charts(set)
	for _, c := range charts {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no chart is called %s: %q", name, chartNames(charts))
	return Chart{}
}

// waitRecord is about small messages behind large ones, with a sample for each wait.
func waitRecord(t *testing.T, framing string, drain int64, waits ...int64) results.Record {
	t.Helper()
	c := results.Cell{Framing: framing, Size: 1000000, Pipe: "anonymous", IO: "blocking",
		Placement: "free", Pattern: results.PatternMixed, Payload: "json", Rate: 4000, Drain: drain}
	r := results.Record{Run: "run-1", Time: testTime, Cell: c}
	for _, wait := range waits {
		latency, err := results.NewLatency(slices.Repeat([]int64{wait}, 40))
		if err != nil {
			t.Fatal(err)
		}
		r.Samples = append(r.Samples, results.Sample{ElapsedNS: 1e6, Messages: 41,
			PayloadBytes: 1e6, WireBytes: 1e6,
			Latency: map[string]results.Latency{"due": latency}})
	}
	return r
}

// Small messages that wait behind large ones have a chart; what they take has no part in others.
func TestSmallMessagesHaveTheirChart(t *testing.T) {
	set := &results.Set{Environments: []results.Environment{testMachine("run-1", "linux")}}
	for _, drain := range []int64{200e6, 20e6} {
		framings := []string{"ndjson", "chunked:4096", "chunked:61440"}
		if drain == 20e6 {
			framings = []string{"ndjson", "chunked:61440", "chunked:4096"} // the shortest wait last
		}
		for i, framing := range framings {
			wait := 1e15 / drain / int64(1+9*i)
			set.Add(waitRecord(t, framing, drain, slices.Repeat([]int64{wait}, 6)...))
		}
	}
	charts := Charts(set)
	if names := chartNames(charts); !slices.Equal(names, []string{"wait"}) {
		t.Fatalf("charts %q", names)
	}
	c := charts[0]
	if len(c.Panels) != 2 || c.Title != "How long a small message waits behind large ones" {
		t.Errorf("%q has %d panels", c.Title, len(c.Panels))
	}
	for _, p := range c.Panels {
		names := seriesNames(p)
		if !slices.Equal(names, []string{"chunked", "ndjson"}) || len(p.Series[0].Points) != 2 ||
			p.Series[1].Points[0].Y != p.Series[1].Points[1].Y {
			t.Errorf("panel %q: %+v", p.Title, p.Series)
		}
	}
}

// The title of the picture is the sentence of the text, if a writer that sleeps is certainly
// slower.
func TestTheTitleSaysWhatASleepingWriterLoses(t *testing.T) {
	set := &results.Set{}
	for io, ns := range map[string]int64{"poll/blocking": 9e6, "sleep=1ms/blocking": 90e6} {
		r := results.Record{Cell: testCell("ndjson", 130_000, "same", "stream")}
		r.Cell.IO = io
		sample := results.Sample{ElapsedNS: ns, Messages: 9, PayloadBytes: 1e6}
		r.Samples = slices.Repeat([]results.Sample{sample}, stat.LeastSamples)
		set.Add(r)
	}
	c := chartOfName(t, set, "waiting")
	const want = "Messages of 130,000 B to a fast reader take 10 times as long if the writer " +
		"sleeps 1ms when the pipe is full (EAGAIN) instead of waiting by poll(2)"
	if c.Title != want {
		t.Errorf("title %q, want %q", c.Title, want)
	}
	for i := range set.Records {
		if set.Records[i].Cell.IO == "poll/blocking" {
			set.Records[i].Samples[0].ElapsedNS = 90e6
		}
		set.Records[i].Samples = set.Records[i].Samples[:1]
	}
	if c := chartOfName(t, set, "waiting"); strings.Contains(c.Title, "sleeps") {
		t.Errorf("the writers are alike, and the title is %q", c.Title)
	}
}

// The title has the chunk size that tune advises, and the words of tune.
func TestTheTitleOfWaitsIsTunesAdvice(t *testing.T) {
	rough := []int64{1e6, 3e6, 1e6, 3e6, 1e6, 3e6}
	wild := []int64{1e6, 400e6, 2e6, 800e6, 1e6, 500e6}
	for want, short := range map[string][]int64{
		"a small message waits 5.00 ms instead of 50.0 ms":  slices.Repeat([]int64{5e6}, 6),
		"a small message waits ~1.00 ms instead of 50.0 ms": rough,
		"too noisy to tell whether a small message waits":   wild,
	} {
		set := &results.Set{Environments: []results.Environment{testMachine("run-1", "linux")}}
		set.Add(waitRecord(t, "content-length", 20e6, slices.Repeat([]int64{50e6}, 6)...))
		set.Add(waitRecord(t, "chunked:4096", 20e6, slices.Repeat([]int64{1e6}, 6)...))
		set.Add(waitRecord(t, "chunked:16384", 20e6, short...))
		set.Add(results.Finding{
			Run: "run-1", ID: "tune/sending", Verdict: results.Noted,
			Evidence: results.MustEvidence(map[string]int{"chunk": 16384}),
		})
		title := chartOfName(t, set, "wait").Title
		if !strings.HasPrefix(title, "With frames of 16 KiB, "+want) {
			t.Errorf("title %q, want %q", title, want)
		}
	}
}

// Of the settings that certainly gain, the title has the one whose point is highest: the medians of
// the ratios within rounds may have another order.
func TestTheTitleOfWritesHasTheHighestPoint(t *testing.T) {
	set := inWrites("apart", map[int][]int64{
		0:     {40e6, 40e6, 40e6, 40e6, 60e6, 60e6, 60e6, 60e6},
		8192:  {10e6, 10e6, 10e6, 10e6, 20e6, 20e6, 20e6, 10e6},
		65536: {12e6, 12e6, 12e6, 12e6, 12e6, 12e6, 12e6, 12e6},
	})
	title := chartOfName(t, set, "write-size").Title
	const want = "On two CPUs, writes of 8 KiB compared with whole messages in a pipe of 64 KiB: " +
		"4.0 times as fast"
	if title != want {
		t.Errorf("title %q", title)
	}
}

// The title has the setting that tune advises, also where another one has a higher point.
func TestTheTitleOfWritesIsTunesAdvice(t *testing.T) {
	set := inWrites("apart", map[int][]int64{
		0:     slices.Repeat([]int64{40e6}, 8),
		8192:  slices.Repeat([]int64{10e6}, 8),
		65536: slices.Repeat([]int64{20e6}, 8),
	})
	advised := map[string]int{"capacity": set.Records[0].Cell.Capacity, "write_size": 65536}
	set.Add(results.Finding{
		Run: "run-1", ID: "tune/sending", Verdict: results.Noted,
		Evidence: results.MustEvidence(map[string]any{"lever": advised}),
	})
	title := chartOfName(t, set, "write-size").Title
	const want = "On two CPUs, writes of 64 KiB compared with whole messages in a pipe of " +
		"64 KiB: 2.0 times as fast"
	if title != want {
		t.Errorf("title %q, want %q", title, want)
	}
}

// The title of goodput is about a size at which no figure is in doubt.
func TestTheTitleOfGoodputHasNothingInDoubt(t *testing.T) {
	set := &results.Set{}
	for framing, wild := range map[string]int64{
		"raw": 1, "ndjson": 1, "content-length": 1, "chunked:61440": 9,
	} {
		r := results.Record{Cell: testCell(framing, 65536, "apart", "stream")}
		for i := range int64(12) {
			r.Samples = append(r.Samples, results.Sample{
				ElapsedNS: 9e6 * (1 + (wild-1)*(i%2)), Messages: 9, PayloadBytes: 9e6})
		}
		set.Add(r)
		r.Cell.Size = 4096
		r.Samples = slices.Repeat(r.Samples[:1], 12)
		set.Add(r)
	}
	const want = "Framings carry 4 KiB at 1 GB/s on two CPUs"
	if title := chartOfName(t, set, "goodput").Title; title != want {
		t.Errorf("title %q, want %q", title, want)
	}
}

// The ways to wait all have their names below them, though the panels are narrow.
func TestAllWaysToWaitAreNamed(t *testing.T) {
	y := Axis{Log: true}
	c := Chart{Name: "waiting", X: Axis{Places: []string{"poll", "poller", "sleep=10ms"}}}
	for range 3 {
		c.Panels = append(c.Panels, Panel{Title: "EAGAIN per message", Y: &y, Series: []Series{
			{Name: "4,000 B messages", Dots: true, Points: []Point{exact(0, 1), exact(2, 2)}},
			{Name: "130,000 B messages", Dots: true, Points: []Point{exact(0, 1), exact(2, 2)}},
		}})
	}
	svg := string(drawn(t, c))
	for _, name := range append(c.X.Places, "EAGAIN per message") {
		if n := strings.Count(svg, ">"+name+"</text>"); n != 3 {
			t.Errorf("%s is written %d times, in three panels", name, n)
		}
	}
}

// The title of write sizes names the placement at which the same setting loses.
func TestTheTitleOfWritesNamesALoss(t *testing.T) {
	set := results.Merge(
		inWrites("apart", map[int][]int64{
			0:    slices.Repeat([]int64{20e6}, 12),
			8192: slices.Repeat([]int64{10e6}, 12),
		}),
		inWrites("same", map[int][]int64{
			0:    slices.Repeat([]int64{10e6}, 12),
			8192: slices.Repeat([]int64{20e6}, 12),
		}),
	)
	const want = "On two CPUs, writes of 8 KiB compared with whole messages in a pipe of 64 KiB: " +
		"2.0 times as fast; slower on one CPU"
	if title := chartOfName(t, set, "write-size").Title; title != want {
		t.Errorf("title %q, want %q", title, want)
	}
}
