// Package results defines the records of what pipebench measured, and reads and writes the files
// that keep them. Package stat beside it compares and judges the records, and package view shows
// them.
//
// The package measures nothing and imports no other package of the project. A program that only
// wants to read or write results files needs this package alone.
//
//	set, err := results.Read("pipebench-out/results.jsonl")
//	if err != nil {
//		return err
//	}
//	for _, p := range set.Problems { // lines that were skipped, never fatal
//		fmt.Fprintln(os.Stderr, p)
//	}
//	return view.Write(os.Stdout, set, view.FormatTable, view.Options{})
//
// # The file
//
// A results file is JSON Lines: each line is one [Line]. A line is written with a single call as
// soon as its result is known, so an interrupted run keeps what it finished. [Append] opens a file
// for writing. [Read] reads files of this schema and of every older one. [FileSchema] is the JSON
// Schema of a line.
//
// # Quantities
//
// [FormatSize], [FormatDuration], [FormatGoodput] and [FormatPercent] write figures for people, in
// the same way everywhere. [ParseSize] reads a size that a person typed. Goodput is payload bytes
// per second. Units of goodput are powers of 1000, so 1 GB/s is 10^9 B/s. Units of sizes are powers
// of 1024.
//
// # Concurrency
//
// A [Writer], a [Filter] and a [ProblemList] must be used by one goroutine at a time. All other
// types are plain data. Functions neither keep nor change the data in their arguments, so they may
// run at the same time as long as nobody else changes that data.
package results

import "time"

// Kinds of lines in a results file.
const (
	KindEnvironment = "environment"
	KindMeasurement = "measurement"
	KindFinding     = "finding"
	KindTarget      = "target"
	KindMessage     = "message"
)

// A Line is one line of a results file: [Environment], [Record], [Finding], [Target] or [Message].
// A line of an older kind becomes one of these when it is read.
type Line interface {
	kind() string
	run() string
}

// A Record is the measurement of one [Cell]: its samples, and notes about them.
type Record struct {
	Kind string    `json:"kind"` // "measurement"
	Run  string    `json:"run"`  // as in the run's environment line
	Time time.Time `json:"time"` // when the cell was finished

	Cell    Cell     `json:"cell"`
	Samples []Sample `json:"samples,omitempty"`

	Verified *Verified `json:"verified,omitempty"`
	// Stopped says why no more samples were taken: "samples" (as many as asked for), "max-time",
	// "interrupted" or "failed". In older files it may be "precision" (the interval was narrow
	// enough).
	Stopped string `json:"stopped,omitempty"`

	// Unsupported says why this system cannot run the cell. The record then has no samples.
	Unsupported string   `json:"unsupported,omitempty"`
	Failed      string   `json:"failed,omitempty"` // what went wrong and stopped the run
	Warnings    []string `json:"warnings,omitempty"`

	// Disturbed is set if other programs, or other virtual machines, took CPU time that the cell
	// needed. A warning says what happened. CPU times are then more reliable than elapsed times.
	Disturbed bool `json:"disturbed,omitempty"`
}

// Verified says how many of a cell's messages were checked.
type Verified struct {
	// Sequence is the number of messages that were checked while the clock ran. The check looks at
	// the length of a message, and at the numbers at its head and its tail.
	Sequence int64 `json:"sequence"`
	Compared int64 `json:"compared"` // untimed messages whose every byte was compared
	Bytes    int64 `json:"bytes"`    // payload bytes of the compared messages
}

func (Record) kind() string  { return KindMeasurement }
func (r Record) run() string { return r.Run }

// A Sample is one timed measurement of a cell, usually of a few milliseconds. It is also called a
// slice.
//
// A fork is one start of the worker processes that measure a group of cells. It consists of rounds.
// Each round takes one sample of every cell, within milliseconds of each other. The ratio of two
// cells is taken between samples of the same fork and round. A record has its samples in the order
// of time.
//
// The clock starts after the warm-up, when both ends are ready. It stops when the reader has the
// last message or, in round trips, when the writing end has the last answer. Counters cover the
// same time.
type Sample struct {
	Fork  int `json:"fork,omitempty"`  // from 1; 0 in older files, which had no forks
	Round int `json:"round,omitempty"` // from 1, counted over the whole run; 0 if Fork is 0

	ElapsedNS    int64 `json:"elapsed_ns"`
	Messages     int64 `json:"messages"`      // stream: messages delivered; round trip: trips
	PayloadBytes int64 `json:"payload_bytes"` // application bytes delivered, one way
	WireBytes    int64 `json:"wire_bytes"`    // bytes on the pipe, framing included, one way

	// PayloadOffset is the position in a page of 4096 B at which the sender's messages began. The
	// kernel copies faster from some positions than from others. It is 0 in older files, in which
	// larger messages began at the start of a page.
	PayloadOffset int `json:"payload_offset,omitempty"`

	// Capacity is how many bytes the pipe holds, or 0 if the system does not report it.
	Capacity int `json:"capacity"`

	Warmup *Warmup `json:"warmup,omitempty"`

	Writer Counters `json:"writer"` // round trip: the end that asks
	Reader Counters `json:"reader"` // round trip: the end that answers

	// Latency has a distribution of times for each thing that was timed: "roundtrip", "oneway" and,
	// in an open loop, the following:
	//
	//   - "due": the time since a message was due
	//   - "service": the time since the message was sent
	//   - "lateness": how late the message was sent
	Latency map[string]Latency `json:"latency,omitempty"`
	Load    *Load              `json:"load,omitempty"`   // only in an open loop
	Closed  *Closed            `json:"closed,omitempty"` // only if the reader closes its end

	// Disturbed says how the sample lost CPU time that it needed, or is "" if it lost none. Figures
	// leave disturbed samples out if enough others remain. Only StealNS, RunQueueNS and CPU quotas
	// decide whether a sample is disturbed, never its speed.
	Disturbed string `json:"disturbed,omitempty"`
	StealNS   *int64 `json:"steal_ns,omitempty"` // time the hypervisor took from the ends' CPUs
}

// Warmup says what passed through the same ends before the clock started.
type Warmup struct {
	Messages  int64 `json:"messages"`
	ElapsedNS int64 `json:"elapsed_ns"`
}

// Counters count what one end did while the clock ran. A counter is nil, and absent from the file,
// if the operating system or the io strategy cannot give it. Zero means that it counted nothing.
type Counters struct {
	Calls int64 `json:"calls"` // read, write and writev calls
	Bytes int64 `json:"bytes"` // bytes that these calls moved

	Short  *int64 `json:"short,omitempty"`   // writes that took only part of what was offered
	EAGAIN *int64 `json:"eagain,omitempty"`  // calls refused because they would have blocked
	Waits  *int64 `json:"waits,omitempty"`   // times that the end waited outside these calls
	WaitNS *int64 `json:"wait_ns,omitempty"` // how long these waits took

	// CPUNS is the user and system time of the end's process. If both ends share a process, it is
	// the time of the end's thread.
	CPUNS *int64 `json:"cpu_ns,omitempty"`

	// A context switch is voluntary if the end waited, and involuntary if another program took its
	// CPU.
	VoluntarySwitches   *int64 `json:"voluntary_switches,omitempty"`
	InvoluntarySwitches *int64 `json:"involuntary_switches,omitempty"`

	// RunQueueNS is how long the end was ready to run but had no CPU, even if the other end had it.
	RunQueueNS *int64 `json:"run_queue_ns,omitempty"`

	Allocs    *int64 `json:"allocs,omitempty"`     // heap objects; nil if both ends share a process
	PeakBytes *int64 `json:"peak_bytes,omitempty"` // peak resident memory of the end's process
	CPUs      []int  `json:"cpus,omitempty"`       // CPUs on which the end was seen, ascending
}

// Load says how well an open loop kept its rate.
type Load struct {
	Due      int64   `json:"due"`      // messages that fell due while the clock ran
	Sent     int64   `json:"sent"`     // how many of these were sent
	Late     int64   `json:"late"`     // sent later than the load generator's own slack explains
	Unsent   int64   `json:"unsent"`   // never sent
	Achieved float64 `json:"achieved"` // messages per second that arrived
}

// Closed says what happened after the reader closed its end, while the writer went on until a write
// failed. The sample's other figures cover only the messages that the reader took before that.
type Closed struct {
	// LostBytes is how many bytes the writer wrote after the last message that the reader took.
	LostBytes int64  `json:"lost_bytes"`
	ToldNS    int64  `json:"told_ns"`           // from the reader's close to the writer's error
	Error     string `json:"error"`             // name of that error: "EPIPE", "ECONNRESET"
	Signals   *int   `json:"signals,omitempty"` // SIGPIPEs; absent if the system has no signals
}
