package bench

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// A job is what the controller asks of one worker: a part in each of one or
// two roles. It travels as one line of JSON on the worker's standard input,
// which then stays open: its end tells the worker that the controller is gone.
type job struct {
	Cell      results.Cell
	Seed      int64
	Recording string // path of the recorded messages, where the cell replays some

	Warmup   int64 // messages before the clock starts
	Messages int64 // messages while it runs
	Compare  bool  // compare every byte: an untimed sample

	Workload string          // the workload, where it is not the cell's pattern
	Params   json.RawMessage // what the ends of an act are told

	Endpoints []endpointConfig
}

// A endpointConfig is one end of the pipe: who plays it, where, and what it holds.
type endpointConfig struct {
	Role role
	CPU  int
	Pin  pinning

	// References to inherited pipe ends. A role that only sends has no In, one
	// that only receives no Out.
	Out, In string
	// Each part tells the other that it is ready, or to go, on Signal, and
	// waits for it on Await.
	ToPeer, FromPeer string
}

// A role is what an end does. The one that holds the clock says go.
type role string

const (
	sender   role = "sender"   // streams messages
	receiver role = "receiver" // takes them, and holds the clock
	client   role = "asker"    // sends a message, awaits the answer, and holds the clock
	server   role = "answerer" // sends each message back
)

// A pinning says what of a worker is bound to the part's CPU.
type pinning string

const (
	pinProcess pinning = "process" // all of it: the part has the worker for itself
	pinThread  pinning = "thread"  // the part's thread: two parts share the worker
)

// A report is what a worker answers for each part, a line of JSON each.
type report struct {
	Role     role
	Error    string // empty if all went well
	PeerGone bool   // the error is that the other end left, so the cause lies there

	ElapsedNS    int64
	Warmup       results.Warmup
	Counters     results.Counters
	Capacity     int
	WireBytes    int64 // written to the pipe that carries the messages
	PayloadBytes int64
	Delivered    int64 // messages
	Checked      bool  // each of them was, by number and length
	Latency      map[string]results.Latency
	Load         *results.Load
	Collections  uint32 // of the garbage collector while the clock ran: none is expected

	Returned json.RawMessage // by an act
}

// A preparedCell is a job's cell, taken apart once and checked.
type preparedCell struct {
	job
	framing framers.Framing
	raw     bool // no framing: both ends know the sizes
	source  *payload.Source
	io      ioPair
}

// prepare makes of a job what its parts work with. Each part calls it for
// itself: a source belongs to one goroutine.
func (j job) prepare() (*preparedCell, error) {
	framing, err := parseFraming(j.Cell.Framing)
	if err != nil {
		return nil, err
	}
	source, err := j.messages()
	if err != nil {
		return nil, err
	}
	io, err := parseIO(j.Cell.IO)
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(framing.String(), ":")
	return &preparedCell{job: j, framing: framing, raw: name == "raw", source: source, io: io}, nil
}

func (j job) messages() (*payload.Source, error) {
	if j.Cell.Messages == "" {
		return payload.Generate(j.Cell.Payload, j.Cell.Size, j.Seed)
	}
	recording, err := payload.ReadRecording(j.Recording)
	if err != nil {
		return nil, err
	}
	if recording.Hash != j.Cell.Messages {
		return nil, fmt.Errorf("recording %s was changed while the run went on", j.Recording)
	}
	return recording.Source(), nil
}

// An ioPair is how each end waits.
type ioPair struct{ writer, reader syspipe.IO }

// parseIO reads a cell's io: one strategy, or "writer/reader".
func parseIO(s string) (ioPair, error) {
	first, second, two := strings.Cut(s, "/")
	if !two {
		second = first
	}
	w, err := syspipe.ParseIO(first)
	if err != nil {
		return ioPair{}, err
	}
	r, err := syspipe.ParseIO(second)
	return ioPair{w, r}, err
}

// of is the strategy of the end that plays a role.
func (p ioPair) of(r role) syspipe.IO {
	if r == sender || r == client {
		return p.writer
	}
	return p.reader
}
