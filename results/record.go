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
// A results file is JSON Lines, one [Line] a line, each written with a single call as soon as it is
// known: an interrupted run keeps what it finished. [Append] writes it, [Read] reads
// any number of them, of this schema and every older one, and [FileSchema] is its JSON Schema.
//
// # Quantities
//
// [FormatSize], [FormatDuration], [FormatGoodput] and [FormatPercent] write figures for people, the
// same everywhere; [ParseSize] reads what people type. Goodput is payload bytes a second, 1 GB/s
// being 10^9 B/s; sizes are powers of 1024.
//
// # Concurrency
//
// A [Writer] belongs to one goroutine. Everything else is data: functions do not keep or change
// what they are given, and may run at the same time as long as nobody writes to it.
package results

import (
	"crypto/rand"
	_ "embed"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Kinds of lines in a results file.
const (
	KindEnvironment = "environment"
	KindMeasurement = "measurement"
	KindFinding     = "finding"
	KindTarget      = "target"
	KindMessage     = "message"

	// earlier versions wrote these
	KindProbe = "probe"
	KindFault = "fault"
	KindClaim = "claim"
	KindCheck = "check"
	KindTune  = "tune"
	KindNoise = "noise"
)

// A Line is one line of a results file: [Environment], [Record], [Finding], [Target] or [Message],
// or of an older kind: [Probe], [Fault], [Claim], [Check], [Tune] or [Noise].
type Line interface {
	kind() string
	run() string
}

// A Record is a cell, its samples and what there is to say about them.
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

	// Disturbed says that others had what the cell needed while it was measured: a warning says
	// what. A comparison gives its times no verdict.
	Disturbed bool `json:"disturbed,omitempty"`
}

// Verified says how far a cell's messages were checked.
type Verified struct {
	// Sequence is how many messages had their length, and their number at head and tail, checked
	// while the clock ran.
	Sequence int64 `json:"sequence"`
	Compared int64 `json:"compared"` // untimed messages whose every byte was compared
	Bytes    int64 `json:"bytes"`    // payload bytes of those
}

func (Record) kind() string  { return KindMeasurement }
func (r Record) run() string { return r.Run }

// A Sample is one timed run of a cell: a slice of a fork.
//
// A fork is one start of the workers of all cells that are compared; in each round of it every one
// of the cells runs once. Samples of a record are in the order in which they were taken. The
// samples of two cells with the same fork and round ran within milliseconds of each other, so a
// ratio is taken between them.
//
// The clock starts when both ends are ready, at the reader's go, and stops when the reader has the
// last message (in a round trip: the writing end the last answer). Counters cover the same time.
// Warm-up is apart.
type Sample struct {
	Fork  int `json:"fork,omitempty"`  // from 1; 0 in files written before there were forks
	Round int `json:"round,omitempty"` // from 1, within the run; 0 as for Fork

	ElapsedNS    int64 `json:"elapsed_ns"`
	Messages     int64 `json:"messages"`      // stream: messages delivered; round trip: trips
	PayloadBytes int64 `json:"payload_bytes"` // application bytes delivered, one way
	WireBytes    int64 `json:"wire_bytes"`    // bytes the framing put on the pipe for them, one way

	// PayloadOffset is where in a page of 4096 B the sender's messages began. Copies in the kernel
	// depend on it. It is 0 in older files, in which larger messages began a page.
	PayloadOffset int `json:"payload_offset,omitempty"`

	// Capacity is what the pipe says that it holds, in bytes; 0 if the system does not tell.
	Capacity int `json:"capacity"`

	Warmup *Warmup `json:"warmup,omitempty"`

	Writer Counters `json:"writer"` // round trip: the end that asks
	Reader Counters `json:"reader"` // round trip: the end that answers

	// Latency by what was timed: "roundtrip", "oneway", "due" (open loop: from when the message was
	// due), "service", "lateness" (the generator's own).
	Latency map[string]Latency `json:"latency,omitempty"`
	Load    *Load              `json:"load,omitempty"` // open loop alone
	Left    *Left              `json:"left,omitempty"` // of a reader that leaves

	// Disturbed says why the sample is left out of the figures: others had a CPU that it needed, as
	// StealNS, InvoluntarySwitches and RunQueueNS tell. How fast the sample was has no part in it.
	Disturbed string `json:"disturbed,omitempty"`
	StealNS   *int64 `json:"steal_ns,omitempty"` // time the hypervisor took from the ends' CPUs
}

// Warmup is what ran through the same ends before the clock started.
type Warmup struct {
	Messages  int64 `json:"messages"`
	ElapsedNS int64 `json:"elapsed_ns"`
}

// Counters are what one end did while the clock ran. A counter that the operating system or the io
// strategy cannot give is nil, and absent from the file; zero means counted, and none.
type Counters struct {
	Calls int64 `json:"calls"` // read, write and writev calls
	Bytes int64 `json:"bytes"` // moved by them

	Short  *int64 `json:"short,omitempty"`  // writes that took only part of what was offered
	EAGAIN *int64 `json:"eagain,omitempty"` // calls refused with "not now"
	Waits  *int64 `json:"waits,omitempty"`  // times the end waited outside the call itself
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
	CPUs      []int  `json:"cpus,omitempty"`       // that it was seen on, ascending
}

// Load is how well an open loop kept its promise.
type Load struct {
	Due      int64   `json:"due"`      // messages that fell due while the clock ran
	Sent     int64   `json:"sent"`     // of them, sent
	Late     int64   `json:"late"`     // sent later than the generator's own slack explains
	Unsent   int64   `json:"unsent"`   // never sent
	Achieved float64 `json:"achieved"` // messages a second that arrived
}

// Left is what became of a writer that went on when its reader had stopped, until it was told. The
// sample's other figures are of the messages before.
type Left struct {
	// LostBytes is how many bytes the pipe took beyond the messages that the reader took.
	LostBytes int64  `json:"lost_bytes"`
	ToldNS    int64  `json:"told_ns"`           // from the reader's close to the writer's error
	Error     string `json:"error"`             // its name: "EPIPE", "ECONNRESET"
	Signals   *int   `json:"signals,omitempty"` // SIGPIPEs; absent if the system has none
}

// Schema is the version of the results file that this package writes. Readers take this and every
// older one.
const Schema = 1

// An Environment opens each run in a results file: where and with what the records of that run were
// measured. What could not be found out is empty.
type Environment struct {
	Kind   string `json:"kind"` // "environment"
	Schema int    `json:"schema"`
	Run    string `json:"run"` // unique
	// Machine is a hash of os, kernel, arch, cpu, cpus, topology, page size, virtualisation and
	// imitation.
	Machine string    `json:"machine"`
	Time    time.Time `json:"time"`

	OS             string   `json:"os"`
	Kernel         string   `json:"kernel"`
	Arch           string   `json:"arch"`
	CPU            string   `json:"cpu"`
	CPUs           int      `json:"cpus"` // those this process may use
	Topology       string   `json:"topology,omitempty"`
	PageSize       int      `json:"page_size"`
	Virtualisation string   `json:"virtualisation,omitempty"`
	Governor       string   `json:"governor,omitempty"`
	Go             string   `json:"go"`
	Version        string   `json:"version"` // of pipebench
	Hostname       string   `json:"hostname"`
	Load1          *float64 `json:"load1,omitempty"` // the load average of a minute
	// Imitation is what stands in for the system or the processor, as in "imitated by gVisor" and
	// "emulated by QEMU": semantics can be compared, speed says nothing of the real one.
	Imitation   string  `json:"imitation,omitempty"`
	ClockNS     float64 `json:"clock_ns,omitempty"`      // what one reading of the clock costs
	ClockStepNS int64   `json:"clock_step_ns,omitempty"` // the smallest step it was seen to make
	PipeMaxSize int     `json:"pipe_max_size,omitempty"` // largest pipe of an ordinary user, bytes
	Seed        int64   `json:"seed"`
	Command     string  `json:"command,omitempty"` // the command line that reproduces the run
}

func (Environment) kind() string  { return KindEnvironment }
func (e Environment) run() string { return e.Run }

// lastRun is when the latest run of this process was named, in nanoseconds of Unix time.
var lastRun atomic.Int64

// NewRun makes the unique name of a run, which its environment line and all its records carry: a
// UUID of version 7 (RFC 9562), so names sort by the time they were made; those of a process do
// even where its clock stands still for milliseconds. A library for it imports net, and each worker
// of the engine would initialise that, and all that sorts before it.
func NewRun() (string, error) {
	var id [16]byte
	if _, err := rand.Read(id[6:]); err != nil {
		return "", fmt.Errorf("name a run: %w", err)
	}
	const step = 245 // nanoseconds, of 4096 in a millisecond: what a name can tell apart
	var now int64
	for named := false; !named; {
		last := lastRun.Load()
		now = max(time.Now().UnixNano(), last+step)
		named = lastRun.CompareAndSwap(last, now)
	}
	binary.BigEndian.PutUint64(id[:8], uint64(now/1e6)<<16|7<<12|uint64(now%1e6)*4096/1e6)
	id[8] = id[8]&0x3f | 0x80 // the variant
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]), nil
}

//go:embed schema.json
var schemaText []byte

// FileSchema returns the JSON Schema (draft 2020-12) of a line of a results file, for readers in
// other languages. Every line that a [Writer] writes is valid.
func FileSchema() []byte { return slices.Clone(schemaText) }

// Latency is a distribution of times. A percentile is there only where at least ten observations
// lie beyond it (p99 takes 1,000, p99.9 takes 10,000): one that rests on fewer is an anecdote.
type Latency struct {
	Count  int64  `json:"count"`
	MinNS  int64  `json:"min_ns"`
	P50NS  *int64 `json:"p50_ns,omitempty"`
	P90NS  *int64 `json:"p90_ns,omitempty"`
	P99NS  *int64 `json:"p99_ns,omitempty"`
	P999NS *int64 `json:"p999_ns,omitempty"`
	MaxNS  int64  `json:"max_ns"`
	// Over is the number of observations above the histogram's range, which it keeps at its end.
	// MaxNS is exact.
	Over int64  `json:"over,omitempty"`
	HDR  string `json:"hdr"` // HdrHistogram V2 compressed, base64
}

// maxLatencyNS is the end of a histogram's range: a minute in nanoseconds. The engine's deadlines
// are shorter.
const maxLatencyNS = 60_000_000_000

// MinTailCount is how many observations a percentile needs above it to be shown.
const MinTailCount = 10

// NewHistogram makes the histogram that latencies are kept in: 1 ns to one minute, three
// significant digits, 221 KB.
func NewHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, maxLatencyNS, 3) }

// Observe records a time in a histogram made by [NewHistogram]. One above its range is kept at the
// range's end, so that percentiles know of it, and told.
func Observe(h *hdrhistogram.Histogram, ns int64) (over bool) {
	over = ns > maxLatencyNS
	within := min(max(ns, 0), maxLatencyNS) // a clock of coarse steps may read zero, never less
	if err := h.RecordValue(within); err != nil {
		panic("results: histogram of another range: " + err.Error())
	}
	return over
}

// NewLatency sums up observations in nanoseconds. It does not keep them.
func NewLatency(ns []int64) (Latency, error) {
	h := NewHistogram()
	var over int64
	for _, v := range ns {
		if Observe(h, v) {
			over++
		}
	}
	l, err := SummariseHistogram(h)
	if err != nil || len(ns) == 0 {
		return l, err
	}
	// The ends are exact: the histogram rounds them.
	l.Over = over
	l.MinNS = max(0, slices.Min(ns))
	l.MaxNS = slices.Max(ns)
	return l, nil
}

// SummariseHistogram sums up a histogram made by [NewHistogram].
func SummariseHistogram(h *hdrhistogram.Histogram) (Latency, error) {
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return Latency{}, fmt.Errorf("encode histogram: %w", err)
	}
	n := h.TotalCount()
	return Latency{
		Count:  n,
		MinNS:  h.Min(),
		P50NS:  carried(h, n, 50),
		P90NS:  carried(h, n, 90),
		P99NS:  carried(h, n, 99),
		P999NS: carried(h, n, 99.9),
		MaxNS:  h.Max(),
		HDR:    string(encoded),
	}, nil
}

// carried returns the percentile if n observations carry it, else nil.
func carried(h *hdrhistogram.Histogram, n int64, percentile float64) *int64 {
	if float64(n)*(100-percentile) < MinTailCount*100-1e-6 {
		return nil
	}
	return new(h.ValueAtQuantile(percentile))
}

// Quantiles name the points of a latency that are kept, see [Latency.Quantile].
var Quantiles = []string{"p50", "p90", "p99", "p99.9", "max"}

// Quantile returns one of the [Quantiles] in nanoseconds, nil where too few observations carry it.
func (l Latency) Quantile(name string) *int64 {
	points := [...]*int64{l.P50NS, l.P90NS, l.P99NS, l.P999NS, new(l.MaxNS)}
	if i := slices.Index(Quantiles, name); i >= 0 && l.Count > 0 {
		return points[i]
	}
	return nil
}

// Histogram gives back the distribution that l was made from.
func (l Latency) Histogram() (*hdrhistogram.Histogram, error) {
	h, err := hdrhistogram.Decode([]byte(l.HDR))
	if err != nil {
		return nil, fmt.Errorf("decode histogram: %w", err)
	}
	return h, nil
}

// MergeLatencies puts the distributions of several samples together, those with one of the keys, so
// that percentiles which no single one carries may be had from all. Its Count is 0 where there are
// none.
func MergeLatencies(samples []Sample, keys ...string) (Latency, error) {
	var all []Latency
	for _, s := range samples {
		for _, key := range keys {
			if l, ok := s.Latency[key]; ok {
				all = append(all, l)
			}
		}
	}
	if len(all) == 0 { // to encode even an empty histogram takes a millisecond
		return Latency{}, nil
	}
	merged := NewHistogram()
	var over, shortest, longest int64
	for _, l := range all {
		h, err := l.Histogram()
		if err != nil {
			return Latency{}, err
		}
		// A writer may have left out observations above the range.
		outside := merged.Merge(h) + max(0, l.Count-h.TotalCount())
		if err := merged.RecordValues(maxLatencyNS, outside); err != nil {
			return Latency{}, fmt.Errorf("merge latencies: %w", err)
		}
		if l.Count > 0 && (merged.TotalCount() == l.Count || l.MinNS < shortest) {
			shortest = l.MinNS
		}
		over += max(l.Over, outside)
		longest = max(longest, l.MaxNS)
	}
	sum, err := SummariseHistogram(merged)
	sum.Over, sum.MinNS, sum.MaxNS = over, shortest, longest
	return sum, err
}
