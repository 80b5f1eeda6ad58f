package results

// A Sample is one timed run of a cell, by workers started for it alone.
//
// The clock starts when both ends are ready, at the reader's go, and stops
// when the reader has the last message (in a round trip: the writing end the
// last answer). Counters cover the same time. Warm-up is apart.
type Sample struct {
	ElapsedNS    int64 `json:"elapsed_ns"`
	Messages     int64 `json:"messages"`      // stream: messages delivered; round trip: trips
	PayloadBytes int64 `json:"payload_bytes"` // application bytes delivered, one way
	WireBytes    int64 `json:"wire_bytes"`    // bytes the framing put on the pipe for them, one way
	Capacity     int   `json:"capacity"`      // bytes, as read back from the pipe; 0 where the system does not tell

	Warmup *Warmup `json:"warmup,omitempty"`

	Writer Counters `json:"writer"` // round trip: the end that asks
	Reader Counters `json:"reader"` // round trip: the end that answers

	// Latency by what was timed: "roundtrip", "oneway", "due" (open loop: from
	// when the message was due), "service", "lateness" (the generator's own).
	Latency map[string]Latency `json:"latency,omitempty"`
	Load    *Load              `json:"load,omitempty"` // open loop alone
}

// Warmup is what ran through the same ends before the clock started.
type Warmup struct {
	Messages  int64 `json:"messages"`
	ElapsedNS int64 `json:"elapsed_ns"`
}

// Counters are what one end did while the clock ran. A counter that the
// operating system or the io strategy cannot give is nil, and absent from the
// file; zero means counted, and none.
type Counters struct {
	Calls               int64  `json:"calls"`                          // read, write and writev calls made
	Bytes               int64  `json:"bytes"`                          // bytes moved by them
	Short               *int64 `json:"short,omitempty"`                // writes that took only part of what was offered
	EAGAIN              *int64 `json:"eagain,omitempty"`               // calls refused with "not now"
	Waits               *int64 `json:"waits,omitempty"`                // times the end waited outside the call itself
	WaitNS              *int64 `json:"wait_ns,omitempty"`              // how long, in all
	CPUNS               *int64 `json:"cpu_ns,omitempty"`               // user and system time: of the process, or of the thread where both ends share one
	VoluntarySwitches   *int64 `json:"voluntary_switches,omitempty"`   // context switches because the end waited
	InvoluntarySwitches *int64 `json:"involuntary_switches,omitempty"` // context switches because another took the CPU
	Allocs              *int64 `json:"allocs,omitempty"`               // heap objects allocated; nil where two ends share a process
	PeakBytes           *int64 `json:"peak_bytes,omitempty"`           // peak resident memory of the end's process
	CPUs                []int  `json:"cpus,omitempty"`                 // CPUs it was seen on, ascending
}

// Load is how well an open loop kept its promise.
type Load struct {
	Due      int64   `json:"due"`      // messages that fell due while the clock ran
	Sent     int64   `json:"sent"`     // of them, sent
	Late     int64   `json:"late"`     // sent later than the generator's own slack explains
	Unsent   int64   `json:"unsent"`   // never sent
	Achieved float64 `json:"achieved"` // messages a second that arrived
}
