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
)

// fullSet holds every kind of record of one machine.
func fullSet() *results.Set {
	set := testSet()
	set.Records[0].Warnings = []string{
		"the CPU's frequency was scaled: set the governor to performance",
	}
	set.Records = append(set.Records, results.Record{
		Kind: "measurement", Run: "run-1", Time: testTime,
		Cell:        testCell("raw", 4096, "far", "stream"),
		Unsupported: "this machine has one last-level cache",
	})
	set.Findings = append(testRules(), testClaims()...)
	set.Targets = testTargets()
	set.Messages = testTraffic()
	return set
}

// twoMachines holds fullSet, and the run of another machine.
func twoMachines() *results.Set {
	set := fullSet()
	set.Environments = append(set.Environments, testMachine("run-2", "darwin"))
	set.Findings = append(set.Findings, testFill("run-2", 4097, 65536, 0))
	for _, r := range testStreams("run-2", 21, 1.7) {
		if r.Cell.Placement == "same" {
			set.Records = append(set.Records, r)
		}
	}
	return set
}

// testFill is what filling a pipe with writes of a size found, beside the documented rule.
func testFill(run string, size, total, documented int) results.Finding {
	f := results.Finding{
		Kind: "finding", Run: run, Time: testTime,
		ID:      "rule/anonymous/capacity/fill/" + strconv.Itoa(size),
		Verdict: results.Holds,
		Value:   float64(total), Unit: "B",
		Found: fmt.Sprintf("%d B", total),
	}
	if documented == 0 {
		f.Verdict = results.Noted
		return f
	}
	rule := fmt.Sprintf("%d B (fs/pipe.c)", documented)
	f.Evidence = results.MustEvidence(map[string]any{"documented": rule})
	if total != documented {
		f.Verdict = results.Refuted
		f.Found += "; documented: " + rule
	}
	return f
}

func testRules() []results.Finding {
	var out []results.Finding
	for _, fill := range []struct{ size, total, documented int }{
		{1, 65536, 65536}, {511, 65408, 65408}, {512, 65536, 65536}, {2049, 32784, 32784},
		{4095, 65520, 65520}, {4096, 65536, 65536}, {4097, 45066, 65552}, {61440, 65536, 65536},
		{65536, 65536, 65536},
	} {
		out = append(out, testFill("run-1", fill.size, fill.total, fill.documented))
	}
	return out
}

func testClaims() []results.Finding {
	claim := func(run, id, title string, verdict results.Verdict, found string) results.Finding {
		return results.Finding{Kind: "finding", Run: run, Time: testTime, ID: "claim/" + id,
			Title: title, Verdict: verdict, Found: found}
	}
	return []results.Finding{
		claim("run-1", "000-overhead", "chunking adds less than 1 % of bytes", results.Holds,
			"0.075 % at 1 MiB"),
		claim("run-1", "000-pipe-buf", "PIPE_BUF is 512", results.Refuted, "4096 B"),
		claim("run-1", "004-oversized", "skipping an oversized line hangs the client",
			results.Depends,
			"on whether the client has a deadline <script>alert(1)</script>"),
		claim("run-2", "000-pipe-buf", "PIPE_BUF is 512", results.Holds, "512 B"),
	}
}

func testTargets() []results.Target {
	var out []results.Target
	command := []string{"/opt/node/bin/node", "server.js", "stdio"}
	for size := int64(1 << 10); size <= 16<<20; size <<= 2 {
		t := results.Target{
			Kind: "target", Run: "run-1", Time: testTime,
			Command: command, Protocol: "mcp", Size: size, Verdict: "ok",
		}
		ns := 90e3 + float64(size)*12 + float64(size)*float64(size)*2e-6
		for i := range 6 {
			t.Samples = append(t.Samples, results.Sample{
				ElapsedNS: int64(ns * (50 + float64(i)*0.3)),
				Messages:  50, PayloadBytes: 50 * size, WireBytes: 50 * size,
			})
		}
		switch {
		case size == 4<<20:
			t.Verdict = "slow"
		case size > 10<<20:
			t.Verdict, t.Samples = "deaf", nil
		}
		out = append(out, t)
	}
	return append(out, results.Target{
		Kind: "target", Run: "run-1", Time: testTime,
		Command: command, Protocol: "mcp", Verdict: "ok",
		RequestLimit: new(int64(10485759)), SearchedTo: new(int64(64 << 20)),
		Warnings: []string{"grows faster than linear: slope 1.4"},
	})
}

// testEnding is what tap writes behind a recording.
func testEnding() []results.Target {
	return []results.Target{{
		Kind: "target", Run: "run-1", Time: testTime,
		Command: []string{"/usr/bin/server"}, Protocol: "lines", Verdict: "signal SIGKILL",
		Evidence: results.TargetEvidence{Traffic: &results.TrafficEvidence{ElapsedNS: 1.5e9}},
	}}
}

func testTraffic() []results.Message {
	rnd := rand.New(rand.NewPCG(9, 9))
	var out []results.Message
	at := int64(0)
	for i := range 300 {
		method := []string{"tools/call", "tools/call", "tools/list", "resources/read"}[i%4]
		id := json.RawMessage(strconv.Itoa(i))
		at += int64(1e6 * rnd.ExpFloat64())
		out = append(out, results.Message{
			Kind: "message", Run: "run-1", Dir: "request", T: at,
			Size: int64(80 * math.Exp(rnd.NormFloat64())), Method: method, ID: id,
		})
		at += int64(4e5 * math.Exp(0.5*rnd.NormFloat64()))
		out = append(out, results.Message{Kind: "message", Run: "run-1", Dir: "reply", T: at,
			Size: int64(2000 * math.Exp(2*rnd.NormFloat64())), ID: id})
	}
	return out
}

// A server that wrote errors before it ended did not end silently, in a picture either.
func TestAServerThatWroteErrorsIsNotSilent(t *testing.T) {
	set := &results.Set{Targets: []results.Target{{
		Command: []string{"server"}, Size: 1024, Verdict: results.VerdictOK,
		Samples: []results.Sample{{ElapsedNS: 1e6, Messages: 1}},
	}, {
		Command: []string{"server"}, Size: 2048, Verdict: "exit 0",
		Evidence: results.TargetEvidence{Failure: &results.FailureEvidence{StderrBytes: 9}},
	}}}
	c := serverChart(rowsOf(set))
	if how := c.Panels[0].Fails.How; how != "exited (code 0)" {
		t.Errorf("it fails: %q", how)
	}
}

// What lies beyond the limit of a server is red and named.
func TestWhereAServerFailsIsNamed(t *testing.T) {
	var set results.Set
	for _, size := range []int64{1024, 2048, 4096} {
		set.Targets = append(set.Targets, results.Target{
			Command: []string{"server"}, Size: size, Verdict: results.VerdictOK,
			Samples: []results.Sample{
				{ElapsedNS: 1e6 + size, Messages: 1}, {ElapsedNS: 1e6, Messages: 1},
			},
		})
	}
	whole := serverChart(rowsOf(&set)).Panels[0]
	if whole.Fails != nil {
		t.Errorf("a server that works: %+v", whole)
	}
	set.Targets = append(set.Targets,
		results.Target{Command: []string{"server"}, Size: 8192, Verdict: "deaf"},
		results.Target{Command: []string{"server"}, Verdict: "deaf",
			RequestLimit: new(int64(5000))})
	c := serverChart(rowsOf(&set))
	points := c.Panels[0].Series[0].Points
	if len(points) != 3 || !slices.Contains(c.X.Places, "5,001 B") {
		t.Errorf("points %+v at %q", points, c.X.Places)
	}
	fails := Failing{From: 3, How: "no reply, process alive"}
	if got := c.Panels[0].Fails; got == nil || *got != fails {
		t.Errorf("fails %+v, want %+v", got, fails)
	}
	if c.Title != "A server fails from 5,001 B on: no reply, process alive" {
		t.Errorf("title %q", c.Title)
	}
	last := &set.Targets[len(set.Targets)-1]
	last.Evidence.Limit = &results.LimitEvidence{Side: "request", CutShort: true}
	const want = "A server fails above 5,000 B: no reply, process alive"
	if got := serverChart(rowsOf(&set)).Title; got != want {
		t.Errorf("a search that was cut short is titled %q, want %q", got, want)
	}
}

// A time in the title is that of a point that is not hollow.
func TestTheTitleHasNoRoughTimeOfAServer(t *testing.T) {
	var set results.Set
	for _, size := range []int64{1024, 2048, 4096} {
		target := results.Target{
			Command: []string{"server"}, Size: size, Verdict: results.VerdictOK,
		}
		for i := range int64(6) {
			ns := size * 1000
			if size == 1024 {
				ns += i * 1e6
			}
			target.Samples = append(target.Samples, results.Sample{ElapsedNS: ns, Messages: 1})
		}
		set.Targets = append(set.Targets, target)
	}
	const want = "A round trip takes 2.05 ms with 2 KiB, 4.1 ms with 4 KiB"
	if got := serverChart(rowsOf(&set)).Title; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
}
