// Package resultstest makes records for the tests of packages that read results.
package resultstest

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipebench/pipebench/results"
)

// Time is the time in all records of the tests.
var Time = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// Cell returns a valid cell. A test changes only the fields that it is about.
func Cell(framing string, size int) results.Cell {
	return results.Cell{
		Framing: framing, Size: size, Pipe: "anonymous", Capacity: 65536, IO: "blocking",
		Placement: "same", Pattern: "stream", Payload: "json",
	}
}

// Sample returns a sample of 1000 messages. Each message has a payload of size bytes, takes wire
// bytes on the pipe, and lasts ns nanoseconds.
func Sample(size, wire int64, ns float64) results.Sample {
	const messages = 1000
	return results.Sample{
		ElapsedNS: int64(ns * messages), Messages: messages, Capacity: 65536,
		PayloadBytes: size * messages, WireBytes: wire * messages,
		Writer: results.Counters{
			Calls: messages, Bytes: wire * messages, Short: new(int64(0)),
			CPUNS: new(int64(ns * 600)), Allocs: new(int64(0)), PeakBytes: new(int64(8 << 20)),
		},
		Reader: results.Counters{
			Calls: messages + 1, Bytes: wire * messages,
			CPUNS: new(int64(ns * 400)), Allocs: new(int64(0)), PeakBytes: new(int64(9 << 20)),
		},
	}
}

// Record returns a record of the measurement of a cell. For each value of ns, it has a sample with
// that time per message.
func Record(c results.Cell, wire int64, ns ...float64) results.Record {
	r := results.Record{Run: "run-1", Time: Time, Cell: c, Stopped: "samples"}
	for _, t := range ns {
		r.Samples = append(r.Samples, Sample(int64(c.Size), wire, t))
	}
	return r
}

// Environment returns the environment of the run "run-1", which the records of [Record] have.
func Environment() results.Environment {
	return results.Environment{
		Run: "run-1", Machine: "m1", Time: Time, OS: "linux", Kernel: "6.12.0", Arch: "amd64",
		CPU: "Testium 9000", CPUs: 2, PageSize: 4096,
		Go: "go1.26.8", Version: "v0.1.0", Hostname: "lab",
		Load1: new(0.25), ClockNS: 26, ClockStepNS: 1, PipeMaxSize: 1 << 20,
		Seed: 7, Virtualisation: "kvm",
	}
}

// Around returns six durations that rise evenly from ns*(1-share*2/3) to ns*(1+share).
func Around(ns, share float64) []float64 {
	var out []float64
	for i := range 6 {
		out = append(out, math.Round(ns*(1+share*float64(i-2)/3)))
	}
	return out
}

// Beside returns measurements of the framing raw and of those in framed. The values are times per
// message in nanoseconds.
func Beside(placement string, raw []float64, framed map[string][]float64) *results.Set {
	s := &results.Set{}
	s.Add(Environment())
	c := Cell("raw", 65536)
	c.Placement = placement
	s.Add(Record(c, 65536, raw...))
	for _, framing := range slices.Sorted(maps.Keys(framed)) {
		c.Framing = framing
		s.Add(Record(c, 65587, framed[framing]...))
	}
	return s
}

// Drifting returns six measured times per message. The first is about ns, and the others are
// longer, because the machine becomes slower.
func Drifting(ns float64) []float64 {
	rng := rand.New(rand.NewPCG(uint64(ns), 1))
	var out []float64
	for round := range 6 {
		drift := 1 + 0.03*float64(round)
		jitter := 0.99 + 0.02*rng.Float64()
		out = append(out, math.Round(ns*drift*jitter))
	}
	return out
}

// WithLatency adds a latency with the given key to each sample of a record. It has count values,
// from 1 to 1.4 times the sample's time per message.
func WithLatency(r results.Record, key string, count int) results.Record {
	for i, s := range r.Samples {
		ns := make([]int64, count)
		for j := range ns {
			ns[j] = s.ElapsedNS / s.Messages * int64(100+j%40) / 100
		}
		l, err := results.NewLatency(ns)
		if err != nil {
			panic(err)
		}
		r.Samples[i].Latency = map[string]results.Latency{key: l}
	}
	return r
}

// Sweep returns a small run: two placements, three framings, two sizes, round trips, a warning, and
// a combination that the system cannot measure.
func Sweep() *results.Set {
	s := &results.Set{}
	s.Add(Environment())
	for _, placement := range []string{"same", "apart"} {
		slower := map[string]float64{"same": 1, "apart": 3}[placement]
		for _, size := range []int{4096, 65536} {
			for _, f := range []struct {
				framing string
				added   int // bytes that the framing adds to a message
				factor  float64
			}{{"raw", 0, 1}, {"ndjson", 1, 1.1}, {"chunked:61440", 51, 1.25}} {
				c := Cell(f.framing, size)
				c.Placement = placement
				s.Add(Record(c, int64(size+f.added), Drifting(float64(size)/8*f.factor*slower)...))
			}
		}
		for _, f := range []struct {
			framing string
			wire    int64
			ns      float64
		}{{"raw", 256, 1900}, {"ndjson", 257, 1950}} {
			c := Cell(f.framing, 256)
			c.Placement = placement
			c.Pattern = "roundtrip"
			trips := Record(c, f.wire, Drifting(f.ns*slower)...)
			s.Add(WithLatency(trips, "roundtrip", 2000))
		}
	}
	odd := Cell("length-prefix", 65536)
	odd.Placement = "apart"
	s.Add(results.Record{
		Run: "run-1", Time: Time, Cell: odd, Unsupported: "this system has one CPU",
	})
	s.Records[0].Verified = &results.Verified{Sequence: 6000, Compared: 100, Bytes: 409600}
	s.Records[1].Warnings = []string{"another process used 30 % of a CPU; close it"}
	return s
}

// Pairs returns n pairs of runs, old[i] and new[i]. The new run of a pair takes factor times as
// long as the old run, and a random drift slows both alike.
func Pairs(rng *rand.Rand, n, cells int, factor float64) (old, new []*results.Set) {
	for range n {
		a, b := &results.Set{}, &results.Set{}
		a.Add(Environment())
		b.Add(Environment())
		drift := 1 + rng.Float64()/2
		for i := range cells {
			cell := Cell("ndjson", 1024<<i)
			wobble := func() float64 { return math.Exp(0.01 * rng.NormFloat64()) }
			a.Add(Record(cell, 1024<<i, Around(1000*drift*wobble(), 0.01)...))
			b.Add(Record(cell, 1024<<i, Around(1000*drift*factor*wobble(), 0.01)...))
		}
		old = append(old, a)
		new = append(new, b)
	}
	return old, new
}

// UpTo returns 1, 2, …, n microseconds, in nanoseconds.
func UpTo(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i+1) * 1000
	}
	return out
}

// Encoded returns the text that lines have in a file.
func Encoded(t *testing.T, ls ...results.Line) string {
	t.Helper()
	var b strings.Builder
	for _, l := range ls {
		if err := results.NewWriter(&b).Write(l); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// Lines returns one line of each kind: environment, measurement, finding, target, message.
func Lines() []results.Line {
	return []results.Line{
		Environment(),
		Record(Cell("ndjson", 256), 257, 100, 101),
		results.Finding{
			Run: "run-1", Time: Time, ID: "check/server/ids", Title: "ids of every form",
			About: []string{"server"}, Verdict: results.Fails, Class: "wrong-id", Value: 3.0,
			Found: "3 of 9 ids came back changed", Advice: "return the id as it came",
			Evidence: results.MustEvidence(map[string]any{"sent": "1.0"}),
		},
		results.Target{
			Run: "run-1", Time: Time, Command: []string{"server"}, Protocol: "mcp",
			Verdict: "limited", RequestLimit: new(int64(65535)),
		},
		results.Message{
			Run: "run-1", Dir: "request", T: 5, Size: 10, Method: "ping", ID: []byte("1"),
		},
	}
}

// A Rule holds the parts of a finding about the system's pipes, for tests.
type Rule struct {
	Run        string
	Time       time.Time
	Pipe, Step string
	Value      any
	Unit, How  string
	Documented string
	Agrees     *bool // nil: not documented
}

// Finding returns the finding about the rule, as in a file.
func (r Rule) Finding() results.Finding {
	f := results.Finding{
		Kind: results.KindFinding, Run: r.Run, Time: r.Time,
		ID:    strings.ReplaceAll("rule/"+r.Pipe+"/"+r.Step, "//", "/"),
		Title: r.How, Verdict: results.Noted, Value: r.Value, Unit: r.Unit,
		Found: fmt.Sprint(r.Value),
	}
	if n, ok := f.Number(); ok {
		f.Found = results.FormatExact(n, r.Unit)
	}
	if r.Agrees != nil {
		f.Verdict = results.Refuted
		if *r.Agrees {
			f.Verdict = results.Holds
		}
	}
	if r.Documented != "" {
		f.Found += "; documented: " + r.Documented
		f.Evidence = results.MustEvidence(map[string]string{"documented": r.Documented})
	}
	return f
}

// Update is the flag with which a test writes its golden files anew.
var Update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares got with a file under testdata, or writes the file if [Update] is set.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *Update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got), rewrite with -update:\n%s", name, d)
	}
}
