package plots

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/pipebench/pipebench/results"
)

var testTime = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

var testMachineID = map[string]string{"linux": "3b1f0c77a9d2", "darwin": "c94e51e80b6f", "windows": "07aa6d3c1e55"}

// testMachine is an environment: m1 on linux, m2 on darwin, m3 on windows.
func testMachine(run, os string) results.Environment {
	e := results.Environment{
		Kind: "environment", Schema: results.Schema, Run: run, Machine: testMachineID[os], Time: testTime,
		OS: os, Kernel: "6.12.0", Arch: "amd64", CPU: "Testium 9000", CPUs: 2, PageSize: 4096,
		Go: "go1.26.8", Version: "v0.1.0", Hostname: "lab-" + os, Load1: new(0.25), ClockNS: 26, Seed: 7,
		Command: "pipebench run --seed 7",
	}
	if os == "darwin" {
		e.Kernel, e.Arch, e.CPU, e.CPUs, e.PageSize = "25.1.0", "arm64", "Apple M9", 8, 16384
	}
	return e
}

// cost is what a framing costs in the tests' model of a pipe: nanoseconds a message and a byte over
// raw, bytes on the wire.
type cost struct {
	spec      string
	message   float64
	perByte   float64
	wire      func(size int) int
	superlin  bool
	roundtrip float64
}

func plus(n int) func(int) int { return func(size int) int { return size + n } }

// chunkedWire is the size of a chunked message on the wire.
func chunkedWire(chunk int) func(int) int {
	return func(size int) int {
		for total := 1; ; total++ {
			wire := 0
			for i, left := 0, size; left > 0; i++ {
				header := 36 + 3 + len(fmt.Sprint(i)) + len(fmt.Sprint(total)) + 1
				data := min(left, chunk-header)
				wire, left = wire+header+data, left-data
				if left == 0 && i+1 == total {
					return wire
				}
			}
		}
	}
}

var testFramings = []cost{
	{spec: "raw", wire: plus(0)},
	{spec: "ndjson", message: 55, perByte: 0.035, wire: plus(1), roundtrip: 210},
	{spec: "content-length", message: 130, perByte: 0.012, wire: func(size int) int { return size + 20 + len(fmt.Sprint(size)) }, roundtrip: 600},
	{spec: "chunked:61440", message: 190, perByte: 0.05, wire: chunkedWire(61440), roundtrip: 900},
	{spec: "length-prefix", message: 30, perByte: 0.01, wire: plus(4), roundtrip: 90},
}

// testStreams measures the model: framings × sizes × placements, streaming.
func testStreams(run string, seed uint64, speed float64) []results.Record {
	return testRecords([]int{256, 4096, 65536, 1 << 20}, func(f cost, size int, placement string) results.Record {
		return testStream(rand.New(rand.NewPCG(seed, uint64(size*100+len(f.spec)))), run, f, size, placement, speed)
	})
}

// testRoundtrips measures the model there and back.
func testRoundtrips(run string, seed uint64, speed float64) []results.Record {
	return testRecords([]int{256, 65536}, func(f cost, size int, placement string) results.Record {
		return testTrips(rand.New(rand.NewPCG(seed, uint64(size*100+len(f.spec)))), run, f, size, placement, speed)
	})
}

func testRecords(sizes []int, measure func(f cost, size int, placement string) results.Record) []results.Record {
	var out []results.Record
	for _, placement := range []string{"same", "apart"} {
		for _, f := range testFramings {
			for _, size := range sizes {
				out = append(out, measure(f, size, placement))
			}
		}
	}
	return out
}

func testCell(framing string, size int, placement, pattern string) results.Cell {
	return results.Cell{
		Framing: framing, Size: size, Pipe: "anonymous", Capacity: 65536, IO: "blocking",
		Placement: placement, Pattern: pattern, Payload: "json",
	}
}

// messageNS is the model's time of a message through the pipe.
func messageNS(f cost, size int, placement string) float64 {
	perByte, call := 0.105, 420.0
	if placement == "apart" {
		perByte, call = 0.46, 900
	}
	calls := math.Ceil(float64(f.wire(size)) / 65536)
	ns := f.message + calls*call + float64(size)*(perByte+f.perByte)
	if f.superlin {
		ns += float64(size) * float64(size) / 4096 * 0.002
	}
	return ns
}

func testStream(rnd *rand.Rand, run string, f cost, size int, placement string, speed float64) results.Record {
	r := results.Record{Kind: "measurement", Run: run, Time: testTime, Cell: testCell(f.spec, size, placement, "stream"), Stopped: "samples"}
	spread := map[string]float64{"same": 0.02, "apart": 0.07}[placement]
	for range 6 {
		ns := messageNS(f, size, placement) / speed * (1 + spread*rnd.NormFloat64())
		n := int64(max(100, 50e6/ns))
		calls := n * int64((f.wire(size)+65535)/65536)
		r.Samples = append(r.Samples, results.Sample{
			ElapsedNS: int64(float64(n) * ns), Messages: n, PayloadBytes: n * int64(size), WireBytes: n * int64(f.wire(size)), Capacity: 65536,
			Writer: results.Counters{Calls: calls, Bytes: n * int64(f.wire(size)), Short: new(int64(0)), EAGAIN: new(int64(0)), CPUNS: new(int64(float64(n) * ns * 0.6)), Allocs: new(int64(0)), CPUs: []int{0}},
			Reader: results.Counters{Calls: calls * 2, Bytes: n * int64(f.wire(size)), CPUNS: new(int64(float64(n) * ns * 0.38)), Allocs: new(int64(0)), CPUs: []int{0}},
		})
	}
	return r
}

func testTrips(rnd *rand.Rand, run string, f cost, size int, placement string, speed float64) results.Record {
	r := results.Record{Kind: "measurement", Run: run, Time: testTime, Cell: testCell(f.spec, size, placement, "roundtrip"), Stopped: "samples"}
	base := map[string]float64{"same": 1900, "apart": 7600}[placement]
	for range 6 {
		var ns []int64
		var sum int64
		n := 40_000_000 / int(base+2*messageNS(f, size, placement))
		for range n {
			v := (base + f.roundtrip + 2*messageNS(f, size, placement)) / speed * math.Exp(0.06*rnd.NormFloat64())
			if rnd.Float64() < 0.004 {
				v *= 1 + 6*rnd.ExpFloat64()
			}
			ns = append(ns, int64(v))
			sum += int64(v)
		}
		l, err := results.NewLatency(ns)
		if err != nil {
			panic(err) // a histogram always encodes
		}
		r.Samples = append(r.Samples, results.Sample{
			ElapsedNS: sum, Messages: int64(n), PayloadBytes: int64(n * size), WireBytes: int64(n * f.wire(size)), Capacity: 65536,
			Latency: map[string]results.Latency{"roundtrip": l},
		})
	}
	return r
}

// testSet is one run of the model on one machine. The records are shared by the tests, the slice is
// not.
func testSet() *results.Set {
	return &results.Set{Environments: []results.Environment{testMachine("run-1", "linux")}, Records: slices.Clone(modelRun())}
}

var modelRun = sync.OnceValue(func() []results.Record {
	return append(testStreams("run-1", 7, 1), testRoundtrips("run-1", 7, 1)...)
})
