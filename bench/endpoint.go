package bench

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// errPeerGone says that the process at the other end of the pipe left early. Only the report or the
// exit of that process tells the cause.
var errPeerGone = errors.New("the other end left")

// An endpoint sends or receives messages at one end of the measured pipe, or does both in round
// trips. It belongs to one goroutine.
type endpoint struct {
	job
	endpointConfig
	pipeEnds
	preparedCell

	out, in  *syspipe.End              // measured ends, to write to and read from; may be nil
	w        framers.Writer            // nil at an endpoint that only receives
	r        framers.Reader            // nil at an endpoint that only sends
	exchange func(from, n int64) error // moves n messages, counted on from number from
	batch    *bufio.Writer             // the buffer behind w if messages leave in batches; else nil
	runQueue runQueue
	shared   bool   // the process has other endpoints, too
	clock    *clock // set if times of both ends are compared, else nil
	buf      []byte // to read into, at an end that does not look at messages

	load   *load        // set if messages are sent at a fixed rate or several at once
	mixed  mixed        // the state of the pattern "mixed"
	pace   pace         // how fast the reader may go
	sum    uint64       // of the bytes that touch looked at
	trips  []int64      // client: nanoseconds of each round trip
	cpus   map[int]bool // the CPUs on which this endpoint was seen
	report report
}

func newEndpoint(j job, c endpointConfig, ends pipeEnds, messages sources) (*endpoint, error) {
	e := &endpoint{job: j, endpointConfig: c, pipeEnds: ends}
	var err error
	if e.preparedCell, err = j.prepare(messages.forJob); err != nil {
		return nil, err
	}
	var waits syspipe.IO
	if e.Role.isOrigin() {
		waits = e.writerIO
		e.out = e.data
		e.in = e.back
	} else {
		waits = e.readerIO
		e.out = e.back
		e.in = e.data
	}
	if err := e.setIO(waits); err != nil {
		return nil, err
	}
	// Give the thread its own copy of the descriptor table, except in two cases. Another thread may
	// use the pipe ends, too. Or an end is to be closed, and the original table would keep that end
	// open.
	if waits != syspipe.Poller && !e.isLoad() && !e.Closes {
		ownDescriptors()
	}
	if e.Closes || e.isLoad() {
		if e.clock, err = newClock(); err != nil {
			return nil, err
		}
	}
	e.exchange = e.exchanger()
	return e, nil
}

// setIO sets how the endpoint waits at its ends of the measured pipes. At the pipes for signals to
// the other process it always blocks, because a delay there would be measured too.
func (e *endpoint) setIO(waits syspipe.IO) error {
	err := errors.Join(
		e.toPeer.SetIO(syspipe.Blocking),
		e.fromPeer.SetIO(syspipe.Blocking),
		e.data.SetIO(waits),
	)
	if err == nil && e.back != nil {
		err = e.back.SetIO(waits)
	}
	return err
}

// A preparedCell holds what the names in a [results.Cell], such as the name of a framing, stand
// for. It belongs to one goroutine.
type preparedCell struct {
	framing            framers.Framing
	raw                bool // no framing: both endpoints know the sizes of messages
	source             *payload.Source
	readOffset         int // where in a page the buffer to read into begins
	writerIO, readerIO syspipe.IO
}

// prepare looks up what the names in j.Cell stand for. The parameter messages is a function that
// returns the messages to send.
func (j job) prepare(messages func(job) (*payload.Source, error)) (c preparedCell, err error) {
	if c.framing, err = parseFraming(j.Cell.Framing); err != nil {
		return c, err
	}
	if c.source, err = messages(j); err != nil {
		return c, err
	}
	name, _, _ := strings.Cut(c.framing.String(), ":")
	c.raw = name == "raw"
	c.readOffset = framers.DefaultReadOffset
	if j.Cell.ReadOffset != "" {
		if c.readOffset, err = results.ParseOffset(j.Cell.ReadOffset); err != nil {
			return c, err
		}
	}
	c.writerIO, c.readerIO, err = parseIO(j.Cell.IO)
	return c, err
}

// parseIO parses how the two ends of a pipe wait: one way for both, such as "blocking", or a way
// for each, such as "poll/blocking".
func parseIO(s string) (writer, reader syspipe.IO, err error) {
	first, second, two := strings.Cut(s, "/")
	if !two {
		second = first
	}
	if writer, err = syspipe.ParseIO(first); err != nil {
		return writer, reader, err
	}
	reader, err = syspipe.ParseIO(second)
	return writer, reader, err
}

// isReader reports whether this end receives the stream or, in round trips, answers.
func (e *endpoint) isReader() bool { return e.Role == receiver || e.Role == server }

// hasClock reports whether this endpoint starts and stops the clock.
func (e *endpoint) hasClock() bool { return e.Role == receiver || e.Role == client }

// run sends or receives the messages of a job. There must be no pause between the warm-up and the
// timed messages, because an idle CPU is slow to wake up.
func (e *endpoint) run(j job) error {
	e.begin(j)
	defer e.source.Skip(j.Warmup + j.Messages)
	timed, err := e.newJobsLoad()
	if err != nil {
		return err
	}
	before := usage{heap: e.heap()}
	quiesce()
	began := syspipe.Now()
	if err := e.exchange(0, e.Warmup); err != nil {
		return explain("warm-up", err)
	}
	e.report.Warmup = &results.Warmup{Messages: e.Warmup, ElapsedNS: int64(syspipe.Now() - began)}
	e.load = timed
	began, err = e.meet(&before)
	if err != nil {
		return explain("timed part", err)
	}
	if err := e.runMessages(); err != nil {
		return explain("timed part", err)
	}
	if e.hasClock() {
		e.report.ElapsedNS = int64(syspipe.Now() - began)
	}
	var after usage
	e.snapshot(&after)
	if e.Cell.ClosesAfter > 0 {
		if err := e.closeEarly(); err != nil {
			return fmt.Errorf("close early: %w", err)
		}
	}
	return explain("account", e.fillReport(before, after))
}

// begin makes j the current job and resets what an earlier job left.
func (e *endpoint) begin(j job) {
	e.job = j
	e.report = report{Role: e.Role}
	e.cpus = map[int]bool{}
	e.load = nil
	e.pace = pace{}
	if j.Cell.Drain > 0 {
		minimiseTimerSlack()
		if j.Cell.Pattern != PatternMixed { // the pattern "mixed" has a slowReader
			e.pace.PerSecond = j.Cell.Drain
		}
	}
	if raw, ok := e.r.(*rawReader); ok {
		raw.next = 0
	}
	e.trips = e.trips[:0]
	most := int(max(e.Warmup, e.Messages))
	if e.Role == client && cap(e.trips) < most {
		e.trips = resident(make([]int64, 0, most))
	}
}

// newJobsLoad returns a new load: the state of an endpoint that sends the timed messages at a fixed
// rate, or several at a time. If the job asks for neither, newJobsLoad returns nil.
func (e *endpoint) newJobsLoad() (*load, error) {
	if !e.isLoad() || e.Compare {
		return nil, nil
	}
	if e.Cell.Pattern == PatternMixed {
		var err error
		if e.mixed, err = e.newMixed(e.Messages); err != nil {
			return nil, err
		}
	}
	return e.newLoad(), nil
}

// meet waits until both ends of the pipe are ready, and stores this end's counters in *before. At
// the end that has the clock, the first result is the time at which the clock started. At the other
// end it is 0.
func (e *endpoint) meet(before *usage) (began time.Duration, err error) {
	if e.hasClock() {
		if _, err := e.awaitPeer(); err != nil {
			return began, err
		}
		e.snapshot(before)
		start := e.setSchedule(undecidedStart)
		began = syspipe.Now()
		return began, e.signalPeer(start)
	}
	e.snapshot(before)
	if err := e.signalPeer(undecidedStart); err != nil {
		return began, err
	}
	start, err := e.awaitPeer()
	e.setSchedule(start)
	return began, err
}

// cpuSamples is how often an endpoint asks on which CPU it runs while it moves the timed messages.
// Each time costs some 50 ns.
const cpuSamples = 16

// runMessages moves the timed messages, and now and then notes the CPU on which it runs.
func (e *endpoint) runMessages() error {
	defer e.sampleCPU()
	if e.load != nil {
		e.sampleCPU()
		return e.runLoad()
	}
	e.trips = e.trips[:0]
	e.pace.Next = 0
	for i := range int64(cpuSamples) {
		from := e.Messages * i / cpuSamples
		to := e.Messages * (i + 1) / cpuSamples
		e.sampleCPU()
		if err := e.exchange(e.Warmup+from, to-from); err != nil {
			return err
		}
	}
	return nil
}

// undecidedStart stands for a start time that has not been chosen yet.
const undecidedStart = 0

// signalPeer tells the process at the other end to go on. It also sends start, the time at which
// messages begin to fall due, in nanoseconds of the clock that both processes share.
func (e *endpoint) signalPeer(start int64) error {
	_, err := e.toPeer.Write(binary.NativeEndian.AppendUint64(nil, uint64(start)))
	return err
}

// awaitPeer waits until the peer says to go on, and returns the start time that the peer sent.
func (e *endpoint) awaitPeer() (start int64, err error) {
	var b [8]byte
	_, err = io.ReadFull(e.fromPeer, b[:])
	return int64(binary.NativeEndian.Uint64(b[:])), err
}

// explain adds to err the phase in which it occurred. If err means that the other end of the pipe
// has left, explain also adds errPeerGone.
func explain(when string, err error) error {
	if err == nil {
		return nil
	}
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if ended || errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("%s: %w: %w", when, errPeerGone, err)
	}
	return fmt.Errorf("%s: %w", when, err)
}

func (e *endpoint) sampleCPU() {
	if cpu, ok := placement.Current(); ok {
		e.cpus[cpu] = true
	}
}
