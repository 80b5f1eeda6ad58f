package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/syspipe"
)

// errPeerGone is in the error of an end whose other end left early: the cause
// is in the other's report, or in its exit.
var errPeerGone = errors.New("the other end left")

// An endpoint is a part being played: the pipe ends it holds, and what it does with
// them. It belongs to one goroutine.
type endpoint struct {
	*preparedCell
	endpointConfig
	out, in          *syspipe.End
	toPeer, fromPeer *syspipe.End

	w        framers.Writer            // nil at an end that only receives
	r        framers.Reader            // nil at one that only sends
	exchange func(from, n int64) error // moves n messages, the first of them number from
	batch    *framers.Coalescer        // under w where messages leave in batches; else nil
	load     *load                     // of a load generator; else nil
	trips    []int64                   // asker: nanoseconds of each round trip
	cpus     map[int]bool              // seen under this end
	report   report
}

// newEndpoint makes ready what a part needs: its place, its ends, its buffers.
func (j job) newEndpoint(p endpointConfig) (*endpoint, error) {
	if err := p.pin(); err != nil {
		return nil, err
	}
	s, err := j.prepare()
	if err != nil {
		return nil, err
	}
	e := &endpoint{preparedCell: s, endpointConfig: p, cpus: map[int]bool{}, report: report{Role: p.Role}}
	if err := e.open(); err != nil {
		e.close()
		return nil, err
	}
	return e, e.ready()
}

// ready makes the end's buffers. An end of one thread gets descriptors of its
// own. An act brings what it needs, and may have more threads.
func (e *endpoint) ready() (err error) {
	if e.Workload != "" {
		return nil
	}
	if e.isLoad() {
		e.load, err = e.newLoad()
	} else if e.io.of(e.Role) != syspipe.Poller {
		ownDescriptors()
	}
	e.exchange = e.exchanger()
	return err
}

// open takes over the inherited ends. The gates block, whatever the measured
// ends do: a go that is slow to arrive would count as time of the pipe.
func (e *endpoint) open() error {
	waits := e.io.of(e.Role)
	for _, want := range []struct {
		ref  string
		io   syspipe.IO
		into **syspipe.End
	}{
		{e.Out, waits, &e.out},
		{e.In, waits, &e.in},
		{e.ToPeer, syspipe.Blocking, &e.toPeer},
		{e.FromPeer, syspipe.Blocking, &e.fromPeer},
	} {
		if want.ref == "" {
			continue
		}
		taken, err := syspipe.Inherited(want.ref)
		if err != nil {
			return err
		}
		*want.into = taken
		if err := taken.SetIO(want.io); err != nil {
			return err
		}
	}
	return nil
}

func (e *endpoint) close() {
	for _, end := range []*syspipe.End{e.out, e.in, e.toPeer, e.fromPeer} {
		if end != nil {
			end.Close() // the worker is done with it; there is nobody to tell
		}
	}
}

// isTimer reports whether this end starts and stops the clock.
func (e *endpoint) isTimer() bool { return e.Role == receiver || e.Role == client }

// dataPipe is the pipe end that the messages of the cell, not the answers to
// them, pass through on this side.
func (e *endpoint) dataPipe() *syspipe.End {
	if e.Role == sender || e.Role == client {
		return e.out
	}
	return e.in
}

// signalPeer tells the other end to go on, from a moment on the shared clock where
// messages fall due.
func (e *endpoint) signalPeer(start int64) error {
	_, err := e.toPeer.Write(binary.NativeEndian.AppendUint64(nil, uint64(start)))
	return err
}

// awaitPeer waits until the other end says to go on.
func (e *endpoint) awaitPeer() (start int64, err error) {
	var b [8]byte
	_, err = io.ReadFull(e.fromPeer, b[:])
	return int64(binary.NativeEndian.Uint64(b[:])), err
}

// explain says when something went wrong, and whether it was the other end.
func explain(when string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("%s: %w: %w", when, errPeerGone, err)
	}
	return fmt.Errorf("%s: %w", when, err)
}

// sampleCPU notes the CPU that this end runs on now.
func (e *endpoint) sampleCPU() {
	if cpu, ok := placement.Current(); ok {
		e.cpus[cpu] = true
	}
}
