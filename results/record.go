// Package results reads and writes the files that keep what pipebench measured. Package view beside
// it shows them.
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
// A results file is JSON Lines, and each line is one [Line]. Each line is written as soon as its
// result is known, so an interrupted run keeps what it finished. [Append] opens a file for writing.
// [Read] also reads the files of older versions.
//
// Goodput is payload bytes per second. Its units are powers of 1000, and those of sizes are powers
// of 1024.
//
// A [Writer], a [Filter] and a [ProblemList] must be used by one goroutine at a time. All other
// types are plain data. Functions may run at the same time as long as nobody changes the data in
// their arguments.
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
type Line interface {
	kind() string
	run() string
}

// A Record is the measurement of one [Cell], a combination of settings: its samples, and notes
// about them.
type Record struct {
	Kind string    `json:"kind"` // "measurement"
	Run  string    `json:"run"`  // as in the run's environment line
	Time time.Time `json:"time"` // when the cell was finished

	Cell    Cell     `json:"cell"`
	Samples []Sample `json:"samples,omitempty"`

	Verified *Verified `json:"verified,omitempty"`
	// Stopped says why no more samples were taken: "samples" (as many as asked for), "max-time",
	// "interrupted" or "failed".
	Stopped string `json:"stopped,omitempty"`

	// Unsupported says why this system cannot make the measurement. The record then has no samples.
	Unsupported string   `json:"unsupported,omitempty"`
	Failed      string   `json:"failed,omitempty"` // what went wrong and stopped the run
	Warnings    []string `json:"warnings,omitempty"`

	// Disturbed is set if other programs or virtual machines took CPU time that the measurement
	// needed. CPU times are then more reliable than elapsed times.
	Disturbed bool `json:"disturbed,omitempty"`
}

// Verified says how many of a cell's messages were checked.
type Verified struct {
	// Sequence is the number of messages whose length, first bytes and last bytes were checked
	// while the clock ran.
	Sequence int64 `json:"sequence"`
	Compared int64 `json:"compared"` // untimed messages whose every byte was compared
	Bytes    int64 `json:"bytes"`    // payload bytes of the compared messages
}

func (Record) kind() string  { return KindMeasurement }
func (r Record) run() string { return r.Run }

// A Sample is one timed measurement, usually of a few milliseconds. Two combinations of settings
// are compared by the ratios of those samples that have the same Fork and Round.
type Sample struct {
	Fork  int `json:"fork,omitempty"`  // start of the worker processes, from 1; 0 in a [Target]
	Round int `json:"round,omitempty"` // turn in which it was taken, from 1; 0 if Fork is 0

	ElapsedNS    int64 `json:"elapsed_ns"`    // until the last message, or its answer, was read
	Messages     int64 `json:"messages"`      // stream: messages delivered; round trip: trips
	PayloadBytes int64 `json:"payload_bytes"` // application bytes delivered, one way
	WireBytes    int64 `json:"wire_bytes"`    // bytes on the pipe, framing included, one way

	// PayloadOffset is the position in a page of 4096 bytes at which the sender's messages began.
	// It affects the speed of copies.
	PayloadOffset int `json:"payload_offset,omitempty"`

	// Capacity is how many bytes the pipe holds, or 0 if the system does not report it.
	Capacity int `json:"capacity"`

	Warmup *Warmup `json:"warmup,omitempty"`

	Writer Counters `json:"writer"` // round trip: the end that asks
	Reader Counters `json:"reader"` // round trip: the end that answers

	// Latency has distributions of times by name. They are "roundtrip" or "oneway" and, if messages
	// were sent at a fixed rate, these:
	//
	//   - "due": from when a message was due to when it arrived or was answered
	//   - "service": from when it was sent to when it arrived or was answered
	//   - "lateness": from when it was due to when it was sent
	Latency map[string]Latency `json:"latency,omitempty"`
	Load    *Load              `json:"load,omitempty"`   // only with a fixed rate
	Closed  *Closed            `json:"closed,omitempty"` // only if the reader closes its end

	// Disturbed says how the sample lost CPU time that it needed, or is "". Disturbed samples do
	// not count for figures if enough others remain.
	Disturbed string `json:"disturbed,omitempty"`
	StealNS   *int64 `json:"steal_ns,omitempty"` // time the hypervisor took from the ends' CPUs
}

// Warmup says what passed through the same ends of the pipe before the clock started.
type Warmup struct {
	Messages  int64 `json:"messages"`
	ElapsedNS int64 `json:"elapsed_ns"`
}

// Counters count what one end did while the clock ran. A counter is nil if the system cannot give
// it.
type Counters struct {
	Calls int64 `json:"calls"` // read, write and writev calls
	Bytes int64 `json:"bytes"` // bytes that these calls moved

	Short  *int64 `json:"short,omitempty"`   // writes that took only part of what was offered
	EAGAIN *int64 `json:"eagain,omitempty"`  // calls refused because they would have blocked
	Waits  *int64 `json:"waits,omitempty"`   // times that the end waited outside these calls
	WaitNS *int64 `json:"wait_ns,omitempty"` // how long these waits took

	// CPUNS is the CPU time of the end's process or, if both ends share a process, of its thread.
	CPUNS *int64 `json:"cpu_ns,omitempty"`

	// A context switch is voluntary if the end waited, and involuntary if another program took its
	// CPU.
	VoluntarySwitches   *int64 `json:"voluntary_switches,omitempty"`
	InvoluntarySwitches *int64 `json:"involuntary_switches,omitempty"`

	// RunQueueNS is how long the end was ready to run but had no CPU. It includes times when the
	// other end had the CPU.
	RunQueueNS *int64 `json:"run_queue_ns,omitempty"`

	Allocs    *int64 `json:"allocs,omitempty"`     // heap objects; nil if both ends share a process
	PeakBytes *int64 `json:"peak_bytes,omitempty"` // peak resident memory of the end's process
	CPUs      []int  `json:"cpus,omitempty"`       // CPUs on which the end was seen, ascending
}

// Load says how well messages kept to a fixed rate.
type Load struct {
	Due      int64   `json:"due"`      // messages that fell due while the clock ran
	Sent     int64   `json:"sent"`     // how many of these were sent
	Late     int64   `json:"late"`     // sent later than the load generator's own slack explains
	Unsent   int64   `json:"unsent"`   // never sent
	Achieved float64 `json:"achieved"` // messages per second that arrived
}

// Closed says how the writer went on after the reader had closed its end. The sample's other
// figures cover only the messages read before that.
type Closed struct {
	// LostBytes is how many bytes the writer wrote after the last message that the reader took.
	LostBytes int64  `json:"lost_bytes"`
	ToldNS    int64  `json:"told_ns"`           // from the reader's close to the writer's error
	Error     string `json:"error"`             // name of that error: "EPIPE", "ECONNRESET"
	Signals   *int   `json:"signals,omitempty"` // SIGPIPEs; absent if the system has no signals
}
