package plots

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// fullSet holds every kind of record: two machines' runs, and the findings of one of them.
func fullSet() *results.Set {
	set := testSet()
	set.Environments = append(set.Environments, testMachine("run-2", "darwin"))
	for _, r := range testStreams("run-2", 21, 1.7) {
		if r.Cell.Placement == "same" {
			set.Records = append(set.Records, r)
		}
	}
	set.Records[0].Warnings = []string{"the CPU's frequency was scaled: set the governor to performance"}
	set.Records = append(set.Records, results.Record{Kind: "measurement", Run: "run-1", Time: testTime, Cell: testCell("raw", 4096, "far", "stream"), Unsupported: "this machine has one last-level cache"})
	set.Findings = testProbes()
	set.Targets = testTargets()
	set.Noise = testNoise()
	set.Messages = testTraffic()
	set.Findings = append(set.Findings, testClaims()...)
	set.Findings = append(set.Findings, testFaults()...)
	return set
}

func testProbes() []results.Finding {
	var out []resultstest.Rule
	for _, fill := range []struct{ size, total, documented int }{{1, 65536, 65536}, {511, 65408, 65408}, {512, 65536, 65536}, {2049, 32784, 32784}, {4095, 65520, 65520}, {4096, 65536, 65536}, {4097, 45066, 65552}, {61440, 65536, 65536}, {65536, 65536, 65536}} {
		out = append(out, resultstest.Rule{Run: "run-1", Time: testTime, Pipe: "anonymous", Step: "capacity/fill/" + strconv.Itoa(fill.size), Value: float64(fill.total), Unit: "B", How: "non-blocking writes until EAGAIN", Documented: fmt.Sprintf("%d B (fs/pipe.c)", fill.documented), Agrees: new(fill.total == fill.documented)})
		out = append(out, resultstest.Rule{Run: "run-2", Time: testTime, Pipe: "anonymous", Step: "capacity/fill/" + strconv.Itoa(fill.size), Value: 65536.0, Unit: "B", How: "non-blocking writes until EAGAIN"})
	}
	out = append(out,
		resultstest.Rule{Run: "run-1", Time: testTime, Pipe: "anonymous", Step: "epipe/time", Value: 5200.0, Unit: "ns", How: "from the reader's close to the writer's error", Agrees: nil},
		resultstest.Rule{Run: "run-1", Time: testTime, Pipe: "socketpair", Step: "epipe/time", Value: 8100.0, Unit: "ns", How: "from the reader's close to the writer's error"},
		resultstest.Rule{Run: "run-1", Time: testTime, Pipe: "fifo", Step: "eof/second-writer", Value: false, How: "EOF came while a second write end was open", Documented: "no EOF (pipe_release)", Agrees: new(true)})
	var findings []results.Finding
	for _, p := range out {
		findings = append(findings, p.Finding())
	}
	return findings
}

func testTargets() []results.Target {
	var out []results.Target
	command := []string{"/opt/node/bin/node", "server.js", "stdio"}
	for size := int64(1 << 10); size <= 16<<20; size <<= 2 {
		t := results.Target{Kind: "target", Run: "run-1", Time: testTime, Command: command, Protocol: "mcp", Size: size, Verdict: "ok"}
		ns := 90e3 + float64(size)*12 + float64(size)*float64(size)*2e-6
		for i := range 6 {
			t.Samples = append(t.Samples, results.Sample{ElapsedNS: int64(ns * (50 + float64(i)*0.3)), Messages: 50, PayloadBytes: 50 * size, WireBytes: 50 * size})
		}
		switch {
		case size == 4<<20:
			t.Verdict = "slow"
		case size > 10<<20:
			t.Verdict, t.Samples = "deaf", nil
		}
		out = append(out, t)
	}
	return append(out, results.Target{Kind: "target", Run: "run-1", Time: testTime, Command: command, Protocol: "mcp", Verdict: "ok", RequestLimit: new(int64(10485759)), SearchedTo: new(int64(64 << 20)), Warnings: []string{"grows faster than linear: slope 1.4"}})
}

// testEnding is what tap writes behind a recording.
func testEnding() []results.Target {
	return []results.Target{{Kind: "target", Run: "run-1", Time: testTime, Command: []string{"/usr/bin/server"}, Protocol: "lines", Verdict: "signal SIGKILL", Evidence: results.TargetEvidence{Traffic: &results.TrafficEvidence{ElapsedNS: 1.5e9}}}}
}

func testNoise() []results.Noise {
	rnd := rand.New(rand.NewPCG(8, 8))
	var out []results.Noise
	for _, f := range []string{"raw", "ndjson", "chunked:61440"} {
		n := results.Noise{Kind: "noise", Run: "run-1", Time: testTime, Machine: testMachineID["linux"], Cell: testCell(f, 65536, "same", "stream"), Metric: "goodput"}
		for range 8 {
			n.Values = append(n.Values, 6e9*(1+0.03*rnd.NormFloat64()))
		}
		n.Spread = 0.09
		out = append(out, n)
	}
	return out
}

func testTraffic() []results.Message {
	rnd := rand.New(rand.NewPCG(9, 9))
	var out []results.Message
	at := int64(0)
	for i := range 300 {
		method := []string{"tools/call", "tools/call", "tools/list", "resources/read"}[i%4]
		id := json.RawMessage(strconv.Itoa(i))
		at += int64(1e6 * rnd.ExpFloat64())
		out = append(out, results.Message{Kind: "message", Run: "run-1", Dir: "request", T: at, Size: int64(80 * math.Exp(rnd.NormFloat64())), Method: method, ID: id})
		at += int64(4e5 * math.Exp(0.5*rnd.NormFloat64()))
		out = append(out, results.Message{Kind: "message", Run: "run-1", Dir: "reply", T: at, Size: int64(2000 * math.Exp(2*rnd.NormFloat64())), ID: id, Cuts: []int64{4096, 12}})
	}
	return out
}

func testClaims() []results.Finding {
	return findings([]results.Claim{
		{Kind: "claim", Run: "run-1", Time: testTime, ID: "overhead-bytes", Seed: "000", Claim: "chunking adds less than 1 % of bytes", Verdict: "holds", Figure: "0.075 % at 1 MiB", Why: "782 bytes in 18 frames"},
		{Kind: "claim", Run: "run-1", Time: testTime, ID: "pipe-buf", Seed: "000", Claim: "PIPE_BUF is 512", Verdict: "refuted", Figure: "4096 B", Why: "Linux keeps writes up to a page whole"},
		{Kind: "claim", Run: "run-1", Time: testTime, ID: "oversized-hangs", Seed: "004", Claim: "skipping an oversized line hangs the client", Verdict: "depends", Why: "on whether the client has a deadline <script>alert(1)</script>"},
		{Kind: "claim", Run: "run-2", Time: testTime, ID: "pipe-buf", Seed: "000", Claim: "PIPE_BUF is 512", Verdict: "holds", Figure: "512 B", Why: "as documented"},
		{Kind: "claim", Run: "run-1", Time: testTime, ID: "macos-64k", Seed: "000", Claim: "a macOS pipe grows to 64 KiB", Verdict: "not-testable-here", Why: "XNU's choose_pipespace says so"},
	})
}

func testFaults() []results.Finding {
	return findings([]results.Fault{
		{Kind: "fault", Run: "run-1", Time: testTime, ID: "both-write-first", Verdict: "deadlock", Evidence: results.MustEvidence(map[string]any{"accepted": 196608.0, "deadline_ns": 2e9, "freed": true}), Advice: "Read while you write: a goroutine for each direction."},
		{Kind: "fault", Run: "run-1", Time: testTime, ID: "growth/rescan", Verdict: "slow", Evidence: results.MustEvidence(map[string]any{
			"slope": map[string]any{"n": 6.0, "median": 1.9, "interval": map[string]any{"lo": 1.8, "hi": 2.0, "confidence": 0.95}},
			"curve": map[string]any{"title": "Readers of lines: time for a byte by message size", "x": "message size, B", "y": "ns/B", "series": []any{
				map[string]any{"name": "ndjson", "points": []any{curvePoint(4096, 0.4, false), curvePoint(65536, 0.2, false), curvePoint(1<<20, 0.2, false)}},
				map[string]any{"name": "ndjson-rescan", "points": []any{curvePoint(4096, 2.5, false), curvePoint(65536, 4, false), curvePoint(1<<20, 30, false), curvePoint(16<<20, 480, true)}},
			}}})},
		{Kind: "fault", Run: "run-1", Time: testTime, ID: "reader-gone", Verdict: "EPIPE after 5.2 µs", Evidence: results.MustEvidence(map[string]any{"accepted": 65536.0, "epipe_ns": 5200.0, "sigpipe": true})},
	})
}

// findings turns lines of earlier versions into findings.
func findings[L interface{ Finding() results.Finding }](lines []L) []results.Finding {
	var out []results.Finding
	for _, l := range lines {
		out = append(out, l.Finding())
	}
	return out
}

func curvePoint(x, y float64, extrapolated bool) map[string]any {
	return map[string]any{"x": x, "y": y, "low": y * 0.95, "high": y * 1.08, "extrapolated": extrapolated}
}

// Each machine has its own panel, in which a kind of pipe looks as it does everywhere.
func TestProbesOfSeveralMachinesHaveAPanelEach(t *testing.T) {
	set := &results.Set{}
	for i, os := range []string{"linux", "darwin", "windows"} {
		run := fmt.Sprintf("run-%d", i)
		set.Environments = append(set.Environments, testMachine(run, os))
		for _, pipe := range []string{"anonymous", "fifo"} {
			set.Add(resultstest.Rule{Run: run, Pipe: pipe, Step: "capacity/fill/1", Value: 65536.0}.Finding())
			set.Add(resultstest.Rule{Run: run, Pipe: pipe, Step: "capacity/fill/4096", Value: 65536.0}.Finding())
		}
	}
	charts := probeCharts(set)
	if got := chartNames(charts); !slices.Equal(got, []string{"fill"}) {
		t.Fatalf("charts %q", got)
	}
	for _, c := range charts {
		if got := titles(c); !slices.Equal(got, []string{"linux/amd64", "darwin/arm64", "windows/amd64"}) {
			t.Errorf("%s: panels %q", c.Name, got)
		}
		for _, p := range c.Panels {
			if len(p.Series) != 2 || p.Series[0].Name != "anonymous" || p.Series[1].Name != "fifo" {
				t.Errorf("%s, %s: series %+v", c.Name, p.Title, p.Series)
			}
		}
	}
}
