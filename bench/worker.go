package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// cellWork is the name under which package proc starts the worker processes.
const cellWork = "bench"

// Jobs returns the work of the processes that [Run] starts. A program that also has work of its
// own for such processes calls [proc.Main] instead of [Worker], and passes both kinds of work:
//
//	proc.Main(bench.Jobs(), ours)
func Jobs() map[string]proc.Job { return map[string]proc.Job{cellWork: serveJobs} }

// workerMemory is the memory limit, in bytes, at which a worker's garbage collector begins to run.
const workerMemory = 1 << 30

// Worker returns at once, unless [Run] started this process: then it measures and exits. Every
// program that calls Run must call Worker first in main and TestMain.
func Worker() { proc.Main(Jobs()) }

// A job tells both worker processes to pass some messages from one to the other. The workers read
// the job from their standard input, as one line of JSON.
type job struct {
	Cell      results.Cell
	Seed      int64
	Recording string // path of recorded messages, if the job sends some

	Offset   int   // where in a page messages begin, if Cell does not say
	Warmup   int64 // messages before the clock starts
	Messages int64 // messages while the clock runs
	Compare  bool  // compare every byte; set only in an untimed job
}

// isLast reports whether the workers exit after the job.
func (j job) isLast() bool { return takesOneJob(j.Cell) && !j.Compare }

// An endpointConfig tells a worker what its end of the pipe does, and on which CPU.
type endpointConfig struct {
	Role   role
	CPU    int
	Closes bool // the reader closes its end early
}

type role string

const (
	sender   role = "sender"   // streams messages
	receiver role = "receiver" // receives messages, and has the clock
	client   role = "client"   // sends a message, awaits the reply, and has the clock
	server   role = "server"   // sends each message back
)

// isOrigin reports whether messages, as opposed to replies, come from the end with this role.
func (r role) isOrigin() bool { return r == sender || r == client }

// serveJobs does the jobs that it reads from standard input, on a thread that is bound to the CPU
// of this worker. It returns after the last job, or after one that failed.
func serveJobs(p *proc.Work) error {
	var c endpointConfig
	if err := p.Args(&c); err != nil {
		return err
	}
	if len(p.Ends) == 0 {
		return nil
	}
	debug.SetGCPercent(-1) // garbage is collected between jobs
	debug.SetMemoryLimit(workerMemory)
	runtime.LockOSThread()
	w := newWorkplace(c, p)
	calmWatchdog()
	decoder := json.NewDecoder(jobs)
	for {
		var j job
		if err := decoder.Decode(&j); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the job: %w", err)
		}
		r := w.do(j)
		last := j.isLast() || r.Error != ""
		if last {
			// The other end may still wait for messages that are never sent. It wakes up when the
			// ends here are closed.
			proc.CloseAll(p.Ends)
		}
		if err := p.Report(r); err != nil || last {
			return err
		}
		collectGarbage()
	}
}

func collectGarbage() {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap) // does not stop the world
	if heap[0].Value.Uint64() > workerMemory/8 {
		runtime.GC()
	}
}

// A workplace is what a worker keeps after a job for the next ones, such as an endpoint for each
// measurement.
type workplace struct {
	config  endpointConfig
	ends    pipeEnds
	queue   runQueue
	sources sources
	cells   map[results.Cell]*endpoint
	broken  error // why the process could not be bound to its CPU, or nil
}

func newWorkplace(c endpointConfig, p *proc.Work) *workplace {
	return &workplace{
		config:  c,
		ends:    endsOf(c.Role, p.Ends),
		queue:   openRunQueue(),
		sources: sources{c.Role.isOrigin(), map[results.Cell]*payload.Source{}},
		cells:   map[results.Cell]*endpoint{},
		broken:  placement.PinProcess(c.CPU),
	}
}

func (w *workplace) do(j job) report {
	e, err := w.endpoint(j)
	if err == nil {
		e.runQueue = w.queue
		e.shared = len(w.cells) > 1
		err = e.run(j)
	}
	if err != nil {
		return report{
			Role: w.config.Role, Error: err.Error(), PeerGone: errors.Is(err, errPeerGone),
		}
	}
	return e.report
}

// endpoint returns the endpoint for a job: the one that an earlier job left, or a new one. An
// endpoint that compares every byte is not kept.
func (w *workplace) endpoint(j job) (*endpoint, error) {
	if w.broken != nil {
		return nil, w.broken
	}
	if e := w.cells[j.Cell]; e != nil && !j.Compare {
		return e, nil
	}
	e, err := newEndpoint(j, w.config, w.ends, w.sources)
	if err != nil {
		return nil, err
	}
	if !j.Compare {
		w.cells[j.Cell] = e
	}
	return e, nil
}

// sources has the messages of all measurements of a worker process. Measurements with equal
// messages share them, so that what is in the CPU's cache helps all of them alike.
type sources struct {
	sends bool                             // messages come from this endpoint
	made  map[results.Cell]*payload.Source // by the fields of a cell that decide its messages
}

func (s sources) forJob(j job) (*payload.Source, error) {
	c := j.Cell
	key := results.Cell{
		Payload: c.Payload, Messages: c.Messages, PayloadOffset: c.PayloadOffset,
		Source: c.Source, Size: c.Size,
	}
	if made, known := s.made[key]; known {
		return made, nil
	}
	source, err := j.messages()
	if err != nil {
		return nil, err
	}
	if s.sends {
		if err := j.place(source); err != nil {
			return nil, err
		}
	}
	s.made[key] = source
	return source, nil
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

// asAllocated, as a payload offset, means that messages stay where Go's allocator has put them. For
// messages of some KiB or more, that is where a page begins.
const asAllocated = "0"

// place moves the messages to be sent to the position in memory that j.Cell asks for.
func (j job) place(source *payload.Source) error {
	switch j.Cell.PayloadOffset {
	case asAllocated:
	case "":
		source.Place(j.Offset)
	default:
		offset, err := results.ParseOffset(j.Cell.PayloadOffset)
		if err != nil {
			return err
		}
		source.Place(offset)
	}
	if j.Cell.Source == results.SourceFresh {
		return sendPages(source.Spread())
	}
	return nil
}

// sendPages sends a byte of each page of b through a pipe. Under some hypervisors, the kernel's
// first read of a page takes 13 µs, ten times as long as it takes to copy one. Without sendPages,
// the first samples of new workers would measure that.
func sendPages(b []byte) error {
	w, r, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{IO: syspipe.Blocking})
	if err != nil {
		return err
	}
	defer w.Close()
	defer r.Close()
	var got [1]byte
	for at := 0; at < len(b); at += os.Getpagesize() {
		if _, err := w.Write(b[at : at+1]); err != nil {
			return err
		}
		if _, err := r.Read(got[:]); err != nil {
			return err
		}
	}
	return nil
}
