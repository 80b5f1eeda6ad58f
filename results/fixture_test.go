package results

import "time"

// testTime stands for every time in the tests' records.
var testTime = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// testCell is a whole cell, which tests change in the fields that they are about.
func testCell(framing string, size int) Cell {
	return Cell{
		Framing: framing, Size: size, Pipe: "anonymous", Capacity: 65536, IO: "blocking",
		Placement: "same", Peer: "process", Pattern: "stream", Payload: "json",
	}
}

// testSample is a sample of so many messages, each taking ns nanoseconds and
// having so many bytes on the wire.
func testSample(size, wire int64, ns float64) Sample {
	const messages = 1000
	return Sample{
		ElapsedNS: int64(ns * messages), Messages: messages, Capacity: 65536,
		PayloadBytes: size * messages, WireBytes: wire * messages,
		Writer: Counters{Calls: messages, Bytes: wire * messages, Short: new(int64(0)), CPUNS: new(int64(ns * 600)), Allocs: new(int64(0)), PeakBytes: new(int64(8 << 20))},
		Reader: Counters{Calls: messages + 1, Bytes: wire * messages, CPUNS: new(int64(ns * 400)), Allocs: new(int64(0)), PeakBytes: new(int64(9 << 20))},
	}
}

// testRecord is a record with a sample for each time of a message in nanoseconds.
func testRecord(c Cell, wire int64, ns ...float64) Record {
	r := Record{Run: "run-1", Time: testTime, Cell: c, Stopped: "samples"}
	for _, t := range ns {
		r.Samples = append(r.Samples, testSample(int64(c.Size), wire, t))
	}
	return r
}

// testEnvironment is the environment of run-1.
func testEnvironment() Environment {
	return Environment{
		Run: "run-1", Machine: "m1", Time: testTime, OS: "linux", Kernel: "6.12.0", Arch: "amd64",
		CPU: "Testium 9000", CPUs: 2, PageSize: 4096, Go: "go1.26.8", Version: "v0.1.0", Hostname: "lab",
		Load1: 0.25, ClockNS: 26, ClockStepNS: 1, PipeMaxSize: 1 << 20, Seed: 7, Virtualisation: "kvm",
	}
}
