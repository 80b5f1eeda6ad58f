package stat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results/stat"
)

func TestReadBenchmarkText(t *testing.T) {
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
	got, err := stat.ReadDatasetFrom("bench.txt", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	const machine = "linux amd64 Testium 9000"
	want := []stat.Series{
		{
			Name: "X/size=1-2", Machine: machine, Values: []float64{120, 122}, Messages: 1000,
			Metric: stat.Metric{Name: "ns/op", Better: stat.Lower},
		},
		{
			Name: "X/size=1-2", Machine: machine, Values: []float64{33.5, 33.1}, Messages: 1000,
			Metric: stat.Metric{Name: "MB/s", Better: stat.Higher},
		},
		{
			Name: "X/size=1-2", Machine: machine, Values: []float64{3, 3}, Messages: 1000,
			Metric: stat.Metric{Name: "widgets/op", Better: stat.Higher},
		},
		{
			Name: "X/size=1-2", Machine: "linux amd64 Testium 9001", Values: []float64{99},
			Messages: 1000, Metric: stat.Metric{Name: "ns/op", Better: stat.Lower},
		},
	}
	same := func(a, b stat.Series) bool {
		return a.Name == b.Name && a.Machine == b.Machine && a.Metric.Name == b.Metric.Name &&
			a.Metric.Better == b.Metric.Better && slices.Equal(a.Values, b.Values) &&
			a.Messages == b.Messages
	}
	if !slices.EqualFunc(got.Series, want, same) {
		t.Errorf("got  %+v\nwant %+v", got.Series, want)
	}
	problems := got.Problems
	if len(problems) != 2 || problems[0].Line != 7 || problems[1].Line != 8 {
		t.Errorf("problems: %v, want those of lines 7 and 8", problems)
	}
}

// A benchmark that fails on both sides has no line in either text, so nothing else tells of it.
func TestBenchmarksThatFailedKeepAGateFromPassing(t *testing.T) {
	const passed = "BenchmarkDecode-2 \t 100 \t 500 ns/op\n"
	const failed = "--- FAIL: BenchmarkEncode-2\n    x_test.go:9: boom\n"
	const says = "BenchmarkEncode-2 failed in old.txt"
	for text, want := range map[string]string{
		passed:          "",
		passed + failed: says,
		// after some iterations
		passed + "BenchmarkEncode-2 \t" + failed: says,
	} {
		before, err := stat.ReadDatasetFrom("old.txt", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		after, err := stat.ReadDatasetFrom("new.txt", strings.NewReader(passed+passed))
		if err != nil {
			t.Fatal(err)
		}
		if got := stat.Compare(before, after, stat.CompareOptions{}).Doubt; got != want {
			t.Errorf("%q: doubt %q, want %q", text, got, want)
		}
	}
}

// A benchmark that fails in the new text alone is worse than none, whether a line names it or not.
func TestABenchmarkThatFailsInTheNewTextFailsTheGate(t *testing.T) {
	const passed = "BenchmarkDecode-2 100 500 ns/op\nBenchmarkEncode-2 100 500 ns/op\n"
	const failed = "--- FAIL: BenchmarkEncode-2\n    x_test.go:9: boom\nFAIL\n"
	const panicked = "panic: boom\nFAIL\texample.com/x\t0.005s\nFAIL\n"
	for _, tt := range []struct{ old, new, doubt string }{
		{passed, passed + "PASS\n", ""},
		{passed, passed + failed, "BenchmarkEncode-2 failed in new.txt"},
		{passed, "BenchmarkDecode-2 100 500 ns/op\n" + failed,
			"BenchmarkEncode-2 failed in new.txt"},
		{passed, passed + panicked, "go test failed in new.txt"},
		{passed + failed, passed + failed, "BenchmarkEncode-2 failed in old.txt"},
	} {
		c := compareTexts(t, tt.old, tt.new)
		newFails := strings.HasSuffix(tt.doubt, "new.txt")
		if c.Doubt != tt.doubt || c.NewFails != newFails {
			t.Errorf("%q: doubt %q (new fails: %v), want %q", tt.new, c.Doubt, c.NewFails, tt.doubt)
		}
	}
}
