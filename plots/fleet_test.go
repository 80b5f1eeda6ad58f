package plots

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
	"github.com/pipebench/pipebench/results/stat"
)

const testdata = "../cmd/pipebench/testdata"

// fleetPage reads a fleet and returns its page.
func fleetPage(t testing.TB, fleet *resultstest.Fleet, machines int) string {
	t.Helper()
	sum := stat.NewFleet()
	problems, err := results.EachFrom("fleet", fleet.Reader(machines), sum.Add)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	var page bytes.Buffer
	if err := ReportFleet(&page, sum.Members(), problems, ReportOptions{}); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// BenchmarkFleetPage reads the records of many machines and makes their page. Of a thousand it
// takes half a minute and 0.8 GB.
func BenchmarkFleetPage(b *testing.B) {
	for _, machines := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("machines=%d", machines), func(b *testing.B) {
			if machines > 100 && testing.Short() {
				b.Skip("takes a minute")
			}
			fleet := resultstest.NewFleet(b, testdata)
			for b.Loop() {
				page := fleetPage(b, fleet, machines)
				if len(page) > ReportLimit {
					b.Fatalf("a page of %d bytes", len(page))
				}
				if path := os.Getenv("FLEET_PAGE"); path != "" {
					os.WriteFile(path, []byte(page), 0o600)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys)/(1<<20), "MiB")
		})
	}
}

// The page of a fleet depends on its lines and on which machine comes first, not on the order of
// other lines or on the files that they are in, and lines that come twice count once.
func TestLinesOfAFleetHaveNoOrder(t *testing.T) {
	fleet := resultstest.NewFleet(t, testdata)
	fleet.Slow = map[int]bool{3: true}
	var firsts, lines [][]byte
	for i := range 9 {
		all := bytes.SplitAfter(fleet.Machine(i), []byte("\n"))
		firsts = append(firsts, all[0])
		lines = append(lines, all[1:]...)
	}
	want := ""
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 3 {
		var text bytes.Buffer
		for _, line := range slices.Concat(firsts, lines) {
			text.Write(line)
			if round > 0 && rng.IntN(4) == 0 {
				text.Write(line)
			}
		}
		sum := stat.NewFleet()
		if _, err := results.EachFrom("fleet", &text, sum.Add); err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		if err := ReportFleet(&page, sum.Members(), nil, ReportOptions{}); err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			want = page.String()
		} else if page.String() != want {
			t.Fatalf("the page is another in round %d", round)
		}
		rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	}
	if !strings.Contains(want, "9 machines") {
		t.Errorf("the page is not of 9 machines: %.300s", want)
	}
}

// The title of the chart has no figure that may be noise.
func TestTheTitleOfAFleetsChartHasCertainFiguresAlone(t *testing.T) {
	var members []stat.Member
	for i := range 8 {
		m := stat.Member{Name: fmt.Sprint("m", i), Runs: []results.Environment{{OS: "linux"}}}
		for size, share := range map[int]float64{256: 0.9, 4096: 0.8, 65_536: 2.1} {
			e := stat.Estimate{N: 10, Median: share}
			e.Interval = &stat.Interval{Lo: 0.9 * share, Hi: 1.1 * share}
			if size == 65_536 {
				e.Interval.Hi = 3 * share
			}
			cell := results.Cell{
				Framing: "ndjson", Size: size, Placement: "same", Pattern: "stream",
			}
			m.Figures = append(m.Figures, stat.Figure{Cell: cell, ToRaw: e})
		}
		members = append(members, m)
	}
	tests := []struct {
		machines int
		want     string
	}{
		{2, "Framings keep 80 to 90 % of raw's goodput on 2 machines"},
		{8, "Framings keep 80 to 90 % of raw's goodput on the median machine"},
	}
	for _, tt := range tests {
		charts := FleetCharts(members[:tt.machines])
		if len(charts) != 1 || charts[0].Title != tt.want {
			t.Errorf("got %+v, want the title %q", charts, tt.want)
		}
	}
}

// sharingMember returns a machine on which ndjson keeps a share of raw's goodput.
func sharingMember(name, kernel string, share float64) stat.Member {
	m := stat.Member{Name: name, Runs: []results.Environment{{OS: "linux", Kernel: kernel}}}
	for _, size := range []int{256, 4096} {
		e := stat.Estimate{N: 10, Median: share}
		e.Interval = &stat.Interval{Lo: 0.99 * share, Hi: 1.01 * share}
		cell := results.Cell{Framing: "ndjson", Size: size, Placement: "same", Pattern: "stream"}
		m.Figures = append(m.Figures, stat.Figure{Cell: cell, ToRaw: e})
	}
	return m
}

// kernels returns machines of which every second has another kernel, on which a framing is slower.
func kernels(n int, framing string, factor float64) []stat.Member {
	var sets []*results.Set
	for i := range n {
		m := resultstest.Machine{Name: fmt.Sprint("m", i), Kernel: "6.18.2"}
		if i%2 == 0 {
			m.Kernel = "6.1.7"
			m.Slow = map[string]float64{framing: factor}
		}
		sets = append(sets, m.Run())
	}
	return stat.FleetOf(results.Merge(sets...)).Members()
}

// Groups of machines that the first sentences name have lines of their own.
func TestTheChartOfAFleetShowsTheGroupsOfItsFirstSentence(t *testing.T) {
	c := FleetCharts(kernels(8, "ndjson", 1.5))[0]
	names := []string{
		"ndjson, linux 6.1", "ndjson, linux 6.18", "content-length", "60 KiB chunks",
		"length-prefix",
	}
	slices.Sort(names)
	got := slices.Sorted(slices.Values(c.names()))
	const note = "Groups of machines by their ndjson: linux 6.1; linux 6.18."
	if !slices.Equal(got, names) || !slices.Contains(c.Notes, note) {
		t.Errorf("names %q, notes %q", got, c.Notes)
	}
	const title = "Framings keep 57 to 95 % of raw's goodput, by group of machines"
	if c.Title != title {
		t.Errorf("title %q", c.Title)
	}
	p := c.Panels[0].Series[0].Points[0]
	if p.Samples != 4 && p.Samples != 8 || p.Sample != "machine" {
		t.Errorf("point %+v", p)
	}
	if c = FleetCharts(kernels(8, "ndjson", 1))[0]; len(c.names()) != 4 {
		t.Errorf("machines are alike: names %q", c.names())
	}
}

// If raw parts the machines in halves, each half has lines of its own: no machine is in the middle.
func TestTheChartOfAFleetShowsTheHalvesOfRaw(t *testing.T) {
	c := FleetCharts(kernels(8, "raw", 1.4))[0]
	var names []string
	for _, framing := range []string{"60 KiB chunks", "content-length", "length-prefix", "ndjson"} {
		names = append(names, framing+", linux 6.1", framing+", linux 6.18")
	}
	const note = "Groups of machines by their raw: linux 6.1; linux 6.18."
	got := slices.Sorted(slices.Values(c.names()))
	if !slices.Equal(got, names) || !slices.Contains(c.Notes, note) {
		t.Errorf("names %q, notes %q", got, c.Notes)
	}
	const title = "Framings keep 80 to 133 % of raw's goodput, by group of machines"
	if c.Title != title {
		t.Errorf("title %q", c.Title)
	}
}

// The title has no figure that the page calls too noisy to compare.
func TestTheTitleOfAFleetsChartHasWhatThePageCompares(t *testing.T) {
	quiet, noisy := sharingMember("quiet", "6.1.7", 0.8), sharingMember("noisy", "6.1.7", 1.4)
	noisy.Figures[0].ToRaw.Interval = &stat.Interval{Lo: 0.9, Hi: 1.9}
	noisy.Figures[1] = sharingMember("", "", 0.9).Figures[1]
	const want = "Framings keep 80 to 90 % of raw's goodput on 2 machines"
	if c := FleetCharts([]stat.Member{quiet, noisy})[0]; c.Title != want {
		t.Errorf("title %q", c.Title)
	}
}

// The picture shows machines one by one if the page does, though one has nothing to draw.
func TestTheChartOfAFleetIsOfTheMachinesOfThePage(t *testing.T) {
	var members []stat.Member
	for i := range 8 {
		members = append(members, sharingMember(fmt.Sprint("m", i), "6.1.7", 0.8))
	}
	for i := range members[0].Figures {
		members[0].Figures[i].OddRaw = true
	}
	c := FleetCharts(members)[0]
	if !slices.Equal(c.names(), []string{"ndjson"}) {
		t.Errorf("names %q", c.names())
	}
}

// The picture has all machines if raw differs by degrees.
func TestTheChartOfAFleetHasMachinesWhoseRawDiffersByDegrees(t *testing.T) {
	var sets []*results.Set
	for i := range 12 {
		m := resultstest.Machine{Name: fmt.Sprint("m", i)}
		m.Slow = map[string]float64{"raw": 1 + 0.03*float64(i)}
		sets = append(sets, m.Run())
	}
	charts := FleetCharts(stat.FleetOf(results.Merge(sets...)).Members())
	if len(charts) != 1 {
		t.Fatal("no chart")
	}
	if p := charts[0].Panels[0].Series[0].Points[0]; p.Samples != 12 {
		t.Errorf("point %+v", p)
	}
}

// The caption names no lines for everything together and for raw: these are not drawn.
func TestTheCaptionNamesOnlyLinesThatAreDrawn(t *testing.T) {
	var sets []*results.Set
	for i := range 9 {
		m := resultstest.Machine{Name: fmt.Sprint("m", i)}
		switch i {
		case 1:
			m.Slow = map[string]float64{"": 3}
		case 2:
			m.Slow = map[string]float64{"raw": 2}
		}
		sets = append(sets, m.Run())
	}
	c := FleetCharts(stat.FleetOf(results.Merge(sets...)).Members())[0]
	for _, note := range c.Notes {
		if strings.Contains(note, "Groups") {
			t.Errorf("note %q", note)
		}
	}
}
