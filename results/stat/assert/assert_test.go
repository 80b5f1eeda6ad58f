package assert

import (
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
	"github.com/pipebench/pipebench/results/stat"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text, metric, op string
		value            float64
		size             int64
	}{
		{"p99<50ms@64KiB", "p99", "<", 50e6, 65536},
		{" p99.9 <= 1s ", "p99.9", "<=", 1e9, -1},
		{"service.p50>7.5us", "service.p50", ">", 7500, -1},
		{"goodput>=1.5GB/s@4k", "goodput", ">=", 1.5e9, 4096},
		{"overhead<=1%", "overhead", "<=", 1, -1},
		{"wire<=1049358", "wire", "<=", 1049358, -1},
		{"calls<2.5@1MiB", "calls", "<", 2.5, 1 << 20},
		{"cpu<500us", "cpu", "<", 500e3, -1},
		{"rate>20000/s", "rate", ">", 20000, -1},
		{"peak<64MiB", "peak", "<", 64 << 20, -1},
		{"slope<1.2", "slope", "<", 1.2, -1},
		{"limit>=1MiB", "limit", ">=", 1 << 20, -1},
		{"to-raw>.9@64KiB,placement=same", "to-raw", ">", 0.9, 65536},
	} {
		t.Run(tt.text, func(t *testing.T) {
			a, err := Parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if a.Metric != tt.metric || a.Op != tt.op || a.Value != tt.value || a.Size != tt.size {
				t.Errorf("got %s %s %v @%d", a.Metric, a.Op, a.Value, a.Size)
			}
		})
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "such as p99<50ms@64KiB",
		"p99":                      "such as p99<50ms@64KiB",
		"p99=50ms":                 "comparisons are <, <=, > and >=",
		"p98<50ms":                 `metric "p98" is not known; known are goodput,`,
		"p99<50":                   "want a duration such as 50ms",
		"goodput>3":                "want 1.5GB/s or 800MB/s (decimal)",
		"goodput>3GiB/s":           "want 1.5GB/s or 800MB/s (decimal)",
		"overhead<1":               "want a percentage such as 1.5%",
		"calls<2B":                 "want a plain number",
		"p99<50ms@":                "such as p99<50ms@64KiB",
		"p99<50ms@many":            `size "many"`,
		"p99<50ms@mood=good":       `a cell has no field "mood"; it has batch,`,
		"slope<1@64KiB":            "a slope is over all sizes",
		"limit>=16MiB@4KiB":        "a limit is over all sizes",
		"p99<50ms@64KiB,4KiB":      "give --assert once per size",
		"p99<1s@io=a,io=b":         "two values of io after @",
		"p99<50ms@placement=":      "nothing after placement=",
		"limit>=lots":              `size "lots"`,
		"p99<50ms@64KiB extra":     "size",
		"p99<<50ms":                "want a duration",
		"p99<50ms@64KiB@placement": "size",
		"verdict<1":                "no assertion can be about this metric",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestEvaluate(t *testing.T) {
	set := resultstest.Sweep()
	limit, searched, none := int64(65535), int64(1<<20), int64(0)
	set.Add(results.Target{Run: "run-1", Command: []string{"srv"}, Protocol: "mcp", Verdict: "limited", RequestLimit: &limit})
	open := &results.Set{}
	open.Add(results.Target{Run: "run-1", Command: []string{"srv"}, Protocol: "mcp", Verdict: "ok", SearchedTo: &searched})
	stopped := &results.Set{}
	stopped.Add(open.Targets[0])
	stopped.Add(results.Target{
		Run: "run-1", Command: []string{"srv"}, Protocol: "mcp", Verdict: "ok", SearchedTo: &limit,
		Evidence: results.TargetEvidence{Limit: &results.LimitEvidence{
			Side: "reply", Call: "report rows", Asked: 1 << 20}},
	})
	dead := &results.Set{}
	dead.Add(results.Target{Run: "run-1", Command: []string{"srv"}, Protocol: "mcp", Verdict: "fails", RequestLimit: &none})
	drivenAt := func(sizes ...int64) *results.Set {
		s := &results.Set{}
		for _, size := range sizes {
			s.Add(results.Target{Run: "run-1", Command: []string{"srv"}, Protocol: "lsp", Verdict: "ok", Size: size, Samples: []results.Sample{resultstest.Sample(size, size, float64(size*size))}})
		}
		return s
	}
	driven := drivenAt(64<<10, 256<<10, 1<<20)
	growth := stat.FitTargetGrowth(driven.Targets)
	driven.Add(results.Target{
		Run: "run-1", Command: []string{"srv"}, Protocol: "lsp", Verdict: "ok",
		Evidence: results.TargetEvidence{Growth: &growth.GrowthEvidence},
	})
	for _, tt := range []struct {
		name, assert string
		set          *results.Set
		want         Outcome
		cases        int
	}{
		{"a percentile that the samples carry", "p50<1s@256B", set, Holds, 4},
		{"one that no single sample carries, but all do", "p99.9<3.5us@256,placement=same", set, Holds, 2},
		{"the same, broken on the slower placement", "p99.9<3.5us@256", set, Fails, 4},
		{"one that they do not carry", "service.p99<1s@256", set, CannotTell, 4},
		{"latency of streams, which have none", "p99<1s@64KiB", set, CannotTell, 0},
		{"latency at all sizes, beside streams that have none", "p50<1s", set, Holds, 4},
		{"goodput of one placement", "goodput>5GB/s@64KiB,placement=same", set, Holds, 3},
		{"goodput of both, with a cell that is unsupported: the failure counts", "goodput>5GB/s@64KiB", set, Fails, 7},
		{"a failure counts more than what cannot be told", "overhead<0.01%@64KiB", set, Fails, 7},
		{"replies that stop before requests", "limit>=1MiB", stopped, CannotTell, 2},
		{"replies that stop above", "limit>=60000", stopped, Holds, 2},
		{"what cannot be told is no pass", "overhead<1%@64KiB", set, CannotTell, 7},
		{"one framing", "overhead<1%@framing=ndjson", set, Holds, 6},
		{"beside raw", "to-raw>0.7@64KiB,placement=same", set, Holds, 2},
		{"beside raw, broken", "to-raw>0.85@64KiB,placement=same", set, Fails, 2},
		{"no such size", "goodput>1B/s@1KiB", set, CannotTell, 0},
		{"cells have no slope", "slope<1.1@pattern=stream", set, CannotTell, 0},
		{"a target's time grows with the square", "slope<1.5", driven, Fails, 1},
		{"small sizes say nothing of a target's growth", "slope<1.5", drivenAt(1024, 4096, 16384), CannotTell, 1},
		{"a limit", "limit>=65535", set, Holds, 1},
		{"a limit, broken", "limit>=64KiB", set, Fails, 1},
		{"no limit found as far as asked", "limit>=1MiB", open, Holds, 1},
		{"no limit found, but not searched so far", "limit>=2MiB", open, CannotTell, 1},
		{"no limit found below which one was wanted", "limit<64KiB", open, Fails, 1},
		{"no limit found, one above was wanted", "limit<2MiB", open, CannotTell, 1},
		{"no message works at all", "limit>0", dead, Fails, 1},
		{"nothing there", "p99<1s", &results.Set{}, CannotTell, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := Parse(tt.assert)
			if err != nil {
				t.Fatal(err)
			}
			got := a.Evaluate(tt.set)
			if got.Outcome != tt.want || len(got.Cases) != tt.cases {
				t.Errorf("got %q in %d cases (%s), want %q in %d", got.Outcome, len(got.Cases), got.Why, tt.want, tt.cases)
			}
			if (got.Why == "") != (tt.want == Holds) {
				t.Errorf("%q because %q", got.Outcome, got.Why)
			}
		})
	}
}

// A percentile is certainly above a value if far more observations are than it leaves above itself.
func TestFewObservationsMayRefuteAPercentile(t *testing.T) {
	for _, row := range []struct {
		assert      string
		slow, count int
		want        string
	}{
		{"p99<50ms@64KiB", 104, 518,
			"fails: server 64 KiB: above 50.0 ms (104 of 518 observations)"},
		{"p99>50ms@64KiB", 104, 518, "holds (cases: 1)"},
		{"p99<50ms@64KiB", 6, 518,
			"cannot tell: server 64 KiB: needs 1,000 observations, has 518"},
		{"p99<50ms@64KiB", 0, 518,
			"cannot tell: server 64 KiB: needs 1,000 observations, has 518"},
		{"p99<50ms@64KiB", 2, 20, "cannot tell: server 64 KiB: needs 1,000 observations, has 20"},
		{"p99.9<400ms@64KiB", 104, 518,
			"cannot tell: server 64 KiB: needs 10,000 observations, has 518"},
		{"p90<50ms@64KiB", 30, 60, "fails: server 64 KiB: above 50.0 ms (30 of 60 observations)"},
		{"p99<50ms@64KiB", 200, 1000, "fails: server 64 KiB: 300 ms"},
	} {
		var times []int64
		for i := range row.count {
			took := time.Millisecond
			if i < row.slow {
				took = 300 * time.Millisecond
			}
			times = append(times, int64(took))
		}
		latency, err := results.NewLatency(times)
		if err != nil {
			t.Fatal(err)
		}
		sample := resultstest.Sample(1, 1, 1)
		sample.Latency = map[string]results.Latency{"roundtrip": latency}
		record := results.Target{Command: []string{"server"}, Verdict: "ok", Size: 64 << 10,
			Samples: []results.Sample{sample}}
		a, err := Parse(row.assert)
		if err != nil {
			t.Fatal(err)
		}
		got := a.Evaluate(&results.Set{Targets: []results.Target{record}}).String()
		if got != row.assert+": "+row.want {
			t.Errorf("%d of %d: got %q, want %q", row.slow, row.count, got, row.want)
		}
	}
}

// A server that fails over no size has no limit, but the failure is known.
func TestLimitOfAServerThatFailsAtAnySize(t *testing.T) {
	record := results.Target{Command: []string{"server"}, Verdict: "error reply", Size: 1024,
		Evidence: results.TargetEvidence{Failure: &results.FailureEvidence{
			ServedBefore: 3, AnySize: true}}}
	a, err := Parse("limit>=1MiB")
	if err != nil {
		t.Fatal(err)
	}
	got := a.Evaluate(&results.Set{Targets: []results.Target{record}}).String()
	want := "limit>=1MiB: cannot tell: requests: one of 1,024 B failed after 3 answered " +
		"requests (no limit was found: mend this failure, then try again)"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestResultInALine(t *testing.T) {
	for text, want := range map[string]string{ // want follows the text
		"overhead<1%@framing=ndjson": "holds (cases: 6)",
		"wire<1@256B,placement=same": "fails: raw 256 B roundtrip on one CPU: 256 B",
		"goodput>1B/s@1KiB":          "cannot tell: no case of it was measured",
		"wire>1@framing=length-prefix": "cannot tell: length-prefix 64 KiB stream on two CPUs: " +
			"unsupported: this system has one CPU",
		"service.p99<1s@256,framing=raw": "cannot tell: raw 256 B roundtrip on one CPU: the " +
			"samples do not carry it",
		"to-raw>2@64KiB,framing=ndjson":    "fails: ndjson 64 KiB stream on one CPU: 0.904",
		"goodput>99GB/s@64KiB,framing=raw": "fails: raw 64 KiB stream on one CPU: 7.44 GB/s",
	} {
		a, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Evaluate(resultstest.Sweep()).String(); got != text+": "+want {
			t.Errorf("got %q, want %q after %q", got, want, text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"p99<50ms@64KiB", "goodput>=1.5GB/s@framing=raw", "limit>=1MiB", "slope<1.2", "to-raw>.9@64KiB,placement=same"} {
		f.Add(text)
	}
	set := resultstest.Beside("same", resultstest.Around(10000, 0), nil)
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(a.Text)
		if err != nil || again.Value != a.Value || again.Size != a.Size {
			t.Errorf("%q reads as %+v, and again as %+v, %v", text, a, again, err)
		}
		if got := a.Evaluate(set); got.Outcome == Holds && len(got.Cases) == 0 {
			t.Errorf("%q holds of nothing", text)
		}
	})
}

func TestObservationsAreThoseThatAPercentileTakes(t *testing.T) {
	for text, want := range map[string]int64{
		"p50<1s": 20, "p90<1s": 100, "p99<50ms@64KiB": 1000, "p99.9<1s": 10000, "service.p99<1s": 1000, "service.p99.9<1s": 10000,
		"time<1s": 0, "limit>=1MiB": 0, "max<1s": 0,
	} {
		a, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Observations(); got != want {
			t.Errorf("%s takes %d, want %d", text, got, want)
		}
	}
}

func TestAssertionsOnServers(t *testing.T) {
	lo, hi := 0.3, 2.5
	grown := results.Target{Verdict: "ok", Evidence: results.TargetEvidence{Growth: &results.GrowthEvidence{Slope: 1.4, From: 65536, To: 1048576}}}
	scattered := results.Target{Verdict: "ok",
		Evidence: results.TargetEvidence{Growth: &results.GrowthEvidence{Slope: 1.4, SlopeLo: &lo,
			SlopeHi: &hi}}}
	low, high := 1.24, 1.54
	steep := results.Target{Verdict: "ok", Evidence: results.TargetEvidence{
		Growth: &results.GrowthEvidence{Slope: 1.39, SlopeLo: &low, SlopeHi: &high}}}
	noisy := results.Target{Verdict: "ok", Evidence: results.TargetEvidence{
		Growth: &results.GrowthEvidence{Slope: 1.1, SlopeLo: new(0.39), SlopeHi: new(1.81)}}}
	linear := results.Target{Verdict: "ok", Evidence: results.TargetEvidence{
		Growth: &results.GrowthEvidence{Slope: 1.2, SlopeLo: new(1.05), SlopeHi: new(1.35)}}}
	served := results.Target{Size: 1 << 20, Verdict: "ok"}
	limited := results.Target{Verdict: "deaf", RequestLimit: new(int64(999))}
	cut := limited // its search was cut short
	cut.Evidence.Limit = &results.LimitEvidence{CutShort: true, FailedAt: 2000}
	small := served // no large reply was asked for
	small.Evidence.Server = &results.ServerEvidence{SmallReplies: true}
	late := results.Target{Verdict: results.VerdictNotTried, Evidence: results.TargetEvidence{
		Why: "the time was over", Limit: &results.LimitEvidence{Side: "reply"}}}
	part := results.Target{Verdict: "ok", SearchedTo: new(int64(4096)), Evidence: results.
		TargetEvidence{Limit: &results.LimitEvidence{Side: "reply", CutShort: true}}}
	for _, row := range []struct {
		assert  string
		targets []results.Target
		outcome Outcome
	}{
		{"slope<1.3", []results.Target{grown}, Fails},
		{"slope<1.5", []results.Target{grown}, Holds},
		{"slope<1.3", []results.Target{scattered}, CannotTell},
		{"slope<1.5", []results.Target{scattered}, CannotTell},
		{"slope<2.6", []results.Target{scattered}, Holds},
		{"slope<1.3", []results.Target{steep}, CannotTell},
		{"slope>1.5", []results.Target{steep}, CannotTell},
		{"slope<1.2", []results.Target{steep}, Fails},
		{"slope<1.3", []results.Target{noisy}, CannotTell},
		{"slope<1.8", []results.Target{noisy}, CannotTell},
		{"slope<2", []results.Target{noisy}, Holds},
		{"slope<1.3", []results.Target{linear}, CannotTell},
		{"slope<1.4", []results.Target{linear}, Holds},
		{"slope<1.3", []results.Target{served}, CannotTell},
		{"limit>=1MiB", []results.Target{served}, Holds},
		{"limit>=2MiB", []results.Target{served}, CannotTell},
		{"limit>=1MiB", []results.Target{small}, CannotTell},
		{"limit>=1MiB", []results.Target{served, late}, CannotTell},
		{"limit>=1000", []results.Target{limited, late}, Fails},
		{"limit>=1MiB", []results.Target{served, part}, CannotTell},
		{"limit>=4096", []results.Target{served, part}, Holds},
		{"limit<2MiB", []results.Target{served}, CannotTell},
		{"limit<1MiB", []results.Target{served}, Fails},
		{"limit>=1000", []results.Target{served, limited}, Fails},
		{"limit>998", []results.Target{limited}, Holds},
		{"limit>=1", nil, CannotTell},
		{"limit>=999", []results.Target{cut}, Holds},
		{"limit>=1999", []results.Target{cut}, CannotTell},
		{"limit>=2000", []results.Target{cut}, Fails},
		{"limit<1999", []results.Target{cut}, CannotTell},
	} {
		a, err := Parse(row.assert)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Evaluate(&results.Set{Targets: row.targets}); got.Outcome != row.outcome {
			t.Errorf("%s: %s, want %s", row.assert, got.Outcome, row.outcome)
		}
	}
}

// The exponent stands once in what is said of it.
func TestASlopeIsNamedOnce(t *testing.T) {
	growth := &results.GrowthEvidence{Slope: 1.88, SlopeLo: new(1.2), SlopeHi: new(2.5),
		From: 64 << 10, To: 1 << 20, ShowsAt: 128 << 10, Points: 5}
	grown := results.Target{Command: []string{"srv"}}
	grown.Evidence.Growth = growth
	set := &results.Set{Targets: []results.Target{grown}}
	for text, end := range map[string]string{
		"slope<1.3": "it shows from 128 KiB on (1.30 lies in the interval)",
		"slope<1.1": "it shows from 128 KiB on",
	} {
		c, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		why := c.Evaluate(set).Why
		if strings.Count(why, "1.88") != 1 || !strings.HasSuffix(why, end) {
			t.Errorf("%s: %s", text, why)
		}
	}
}
