// Package results holds what pipebench measured: the records and the file they are kept in. Package
// stat beside it compares and judges them, package view shows them.
//
// The package measures nothing and imports nothing of the project, so a program that only wants to
// read or write result files needs this package alone.
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
// A results file is JSON Lines, one [Line] per line. Each line is written with a single call as
// soon as it is known, so an interrupted run keeps what it finished. [Append] writes a file. [Read]
// reads files of this schema and every older one. [FileSchema] is the JSON Schema of a line.
//
// # Quantities
//
// [FormatSize], [FormatDuration], [FormatGoodput] and [FormatPercent] write figures for people, the
// same everywhere; [ParseSize] reads what people type. Goodput is payload bytes per second, and 1
// GB/s is 10^9 B/s; sizes are powers of 1024.
//
// # Concurrency
//
// A [Writer] belongs to one goroutine. All other types are plain data. Functions do not keep or
// change what they are given, and may run at the same time as long as nobody changes that data.
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
// Lines of older kinds become one of these when they are read.
type Line interface {
	kind() string
	run() string
}

// A Record is what was measured of one [Cell]: the samples, and what there is to say about them.
type Record struct {
	Kind string    `json:"kind"` // "measurement"
	Run  string    `json:"run"`  // the run's environment line has the same
	Time time.Time `json:"time"` // when the cell was finished

	Cell    Cell     `json:"cell"`
	Samples []Sample `json:"samples,omitempty"`

	Verified *Verified `json:"verified,omitempty"`
	// Stopped says why there are no more samples: "samples", "precision", "max-time",
	// "interrupted", "failed".
	Stopped string `json:"stopped,omitempty"`

	// Unsupported says why this system cannot run the cell, which then has no samples.
	Unsupported string   `json:"unsupported,omitempty"`
	Failed      string   `json:"failed,omitempty"` // what went wrong and stopped the run
	Warnings    []string `json:"warnings,omitempty"`

	// Disturbed says that other programs or machines took CPU time that the cell needed; a warning
	// says what happened. Times by the clock are then worth little, CPU time is worth more.
	Disturbed bool `json:"disturbed,omitempty"`
}

// Verified says how far a cell's messages were checked.
type Verified struct {
	// Sequence counts the messages that were checked while the clock ran: their length, and the
	// number that stands at their head and tail.
	Sequence int64 `json:"sequence"`
	Compared int64 `json:"compared"` // untimed messages whose every byte was compared
	Bytes    int64 `json:"bytes"`    // payload bytes of the compared messages
}

func (Record) kind() string  { return KindMeasurement }
func (r Record) run() string { return r.Run }

// A Sample is one timed run of a cell: a slice of a fork.
//
// A fork is one start of the workers that measure a group of cells; in each of its rounds, every
// cell of the group runs once. Samples of a record are in the order in which they were taken. The
// samples of two cells with the same fork and round ran within milliseconds of each other, so a
// ratio is taken between them.
//
// The clock starts when both ends are ready, and stops when the reader has the last message (in a
// round trip: when the writing end has the last answer). Counters cover the same time. The warm-up
// is not included.
type Sample struct {
	Fork  int `json:"fork,omitempty"`  // from 1; 0 in files written before there were forks
	Round int `json:"round,omitempty"` // from 1, counted over the whole run; 0 if Fork is 0

	ElapsedNS    int64 `json:"elapsed_ns"`
	Messages     int64 `json:"messages"`      // stream: messages delivered; round trip: trips
	PayloadBytes int64 `json:"payload_bytes"` // application bytes delivered, one way
	WireBytes    int64 `json:"wire_bytes"`    // bytes the framing put on the pipe for them, one way

	// PayloadOffset is where in a page of 4096 B the sender's messages began. How fast the kernel
	// copies depends on it. It is 0 in older files, in which larger messages began a page.
	PayloadOffset int `json:"payload_offset,omitempty"`

	// Capacity is how many bytes the pipe holds, as the system reports it; 0 if it does not.
	Capacity int `json:"capacity"`

	Warmup *Warmup `json:"warmup,omitempty"`

	Writer Counters `json:"writer"` // round trip: the end that asks
	Reader Counters `json:"reader"` // round trip: the end that answers

	// Latency by what was timed: "roundtrip", "oneway", or in an open loop "due" (from when a
	// message was due), "service" (from when it was sent), "lateness" (how late it was sent).
	Latency map[string]Latency `json:"latency,omitempty"`
	Load    *Load              `json:"load,omitempty"`   // only in an open loop
	Closed  *Closed            `json:"closed,omitempty"` // only if the reader closes its end

	// Disturbed says why the sample is left out of the figures: a CPU that it needed was taken away
	// from it. StealNS, RunQueueNS and CPU quotas tell that; the sample's speed plays no part.
	Disturbed string `json:"disturbed,omitempty"`
	StealNS   *int64 `json:"steal_ns,omitempty"` // time the hypervisor took from the ends' CPUs
}

// Warmup is what ran through the same ends before the clock started.
type Warmup struct {
	Messages  int64 `json:"messages"`
	ElapsedNS int64 `json:"elapsed_ns"`
}

// Counters are what one end did while the clock ran. A counter that the operating system or the io
// strategy cannot give is nil, and absent from the file; zero means that the counter works and
// counted nothing.
type Counters struct {
	Calls int64 `json:"calls"` // read, write and writev calls
	Bytes int64 `json:"bytes"` // that these calls moved

	Short  *int64 `json:"short,omitempty"`  // writes that took only part of what was offered
	EAGAIN *int64 `json:"eagain,omitempty"` // calls refused with "not now"
	Waits  *int64 `json:"waits,omitempty"`  // times that the end waited outside these calls
	WaitNS *int64 `json:"wait_ns,omitempty"`

	// CPUNS is user and system time: of the process, or of the thread if both ends share a process.
	CPUNS *int64 `json:"cpu_ns,omitempty"`

	// Context switches, because the end waited or because another program took the CPU.
	VoluntarySwitches   *int64 `json:"voluntary_switches,omitempty"`
	InvoluntarySwitches *int64 `json:"involuntary_switches,omitempty"`

	// RunQueueNS is how long the end was ready to run and had no CPU, also while the other end ran.
	RunQueueNS *int64 `json:"run_queue_ns,omitempty"`

	Allocs    *int64 `json:"allocs,omitempty"`     // heap objects; nil if both ends share a process
	PeakBytes *int64 `json:"peak_bytes,omitempty"` // peak resident memory of the end's process
	CPUs      []int  `json:"cpus,omitempty"`       // on which the end was seen, ascending
}

// Load says how well an open loop kept its rate.
type Load struct {
	Due      int64   `json:"due"`      // messages that fell due while the clock ran
	Sent     int64   `json:"sent"`     // how many of these were sent
	Late     int64   `json:"late"`     // sent later than the generator's own slack explains
	Unsent   int64   `json:"unsent"`   // never sent
	Achieved float64 `json:"achieved"` // messages per second that arrived
}

// Closed says what happened after the reader closed its end: the writer went on until the system
// told it. The sample's other figures cover only the messages before that.
type Closed struct {
	// LostBytes is how many bytes the pipe took beyond the messages that the reader took.
	LostBytes int64  `json:"lost_bytes"`
	ToldNS    int64  `json:"told_ns"`           // from the reader's close to the writer's error
	Error     string `json:"error"`             // its name: "EPIPE", "ECONNRESET"
	Signals   *int   `json:"signals,omitempty"` // SIGPIPEs; absent if the system has none
}
