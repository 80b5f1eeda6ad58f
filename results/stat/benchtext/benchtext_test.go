package benchtext

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

func TestRead(t *testing.T) {
	const text = `goos: linux
goarch: amd64
cpu: Testium 9000
BenchmarkX/size=1-2  1100  120 ns/op  33.5 MB/s  3 widgets/op
some other text
BenchmarkX/size=1-2  1000  122 ns/op  33.1 MB/s  3 widgets/op
BenchmarkBroken 12
BenchmarkX/size=1-2  900  NaN ns/op
cpu: Testium 9001
BenchmarkX/size=1-2  1000  99 ns/op
Unit widgets/op better=higher
PASS
`
	got, problems, err := Read("bench.txt", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	const machine = "linux amd64 Testium 9000"
	want := []Benchmark{
		{"X/size=1-2", machine, "ns/op", -1, []float64{120, 122}, 1000},
		{"X/size=1-2", machine, "MB/s", 1, []float64{33.5, 33.1}, 1000},
		{"X/size=1-2", machine, "widgets/op", 1, []float64{3, 3}, 1000},
		{"X/size=1-2", "linux amd64 Testium 9001", "ns/op", -1, []float64{99}, 1000},
	}
	same := func(a, b Benchmark) bool {
		return a.Name == b.Name && a.Machine == b.Machine && a.Unit == b.Unit &&
			a.Better == b.Better && slices.Equal(a.Values, b.Values) && a.Iterations == b.Iterations
	}
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if len(problems) != 2 || problems[0].Line != 7 || problems[1].Line != 8 {
		t.Errorf("problems: %v, want those of lines 7 and 8", problems)
	}
}

func TestWithSide(t *testing.T) {
	for name, want := range map[string]string{
		"X":               "X/side=old",
		"X-8":             "X/side=old-8",
		"X/size=1-2":      "X/size=1/side=old-2",
		"X/io=poll-8/a=b": "X/io=poll-8/a=b/side=old",
	} {
		if got := WithSide(name, "old"); got != want {
			t.Errorf("%s becomes %s, want %s", name, got, want)
		}
	}
}

func TestCellNamesAreStable(t *testing.T) {
	c := resultstest.Cell("chunked:61440", 65536)
	c.Capacity = 0
	c.IO = "poller/sleep=10ms"
	const named = "Stream/framing=chunked:61440/size=65536/io=poller+sleep=10ms/placement=same"
	for _, tt := range []struct {
		change func(*results.Cell)
		want   string
	}{
		{func(*results.Cell) {}, named},
		{func(c *results.Cell) { c.Rate = 1000 }, named + "/rate=1000"},
		{func(c *results.Cell) { c.Older = "peer=thread" }, named + "/older=peer=thread"},
		{func(c *results.Cell) { c.Messages = "a b-8" }, named + "/messages=a_b_8"},
	} {
		changed := c
		tt.change(&changed)
		if got := CellName(changed); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}
