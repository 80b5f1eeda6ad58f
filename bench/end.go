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

// An end is a part being played: the pipe ends it holds, and what it does with
// them. It belongs to one goroutine.
type end struct {
	*setting
	part
	out, in       *syspipe.End
	signal, await *syspipe.End

	w        framers.Writer            // nil at an end that only receives
	r        framers.Reader            // nil at one that only sends
	exchange func(from, n int64) error // moves n messages, the first of them number from
	batch    *framers.Coalescer        // under w where messages leave in batches; else nil
	load     *load                     // of a load generator; else nil
	trips    []int64                   // asker: nanoseconds of each round trip
	cpus     map[int]bool              // seen under this end
	report   report
}

// take makes ready what a part needs: its place, its ends, its buffers.
func (j job) take(p part) (*end, error) {
	if err := p.settle(); err != nil {
		return nil, err
	}
	s, err := j.prepare()
	if err != nil {
		return nil, err
	}
	e := &end{setting: s, part: p, cpus: map[int]bool{}, report: report{Role: p.Role}}
	if err := e.open(); err != nil {
		e.close()
		return nil, err
	}
	return e, e.ready()
}

// ready makes the end's buffers. An end of one thread gets descriptors of its
// own. An act brings what it needs, and may have more threads.
func (e *end) ready() (err error) {
	if e.Act != "" {
		return nil
	}
	if e.loaded() {
		e.load, err = e.newLoad()
	} else if e.io.of(e.Role) != syspipe.Poller {
		ownDescriptors()
	}
	e.exchange = e.exchanger()
	return err
}

// open takes over the inherited ends. The gates block, whatever the measured
// ends do: a go that is slow to arrive would count as time of the pipe.
func (e *end) open() error {
	waits := e.io.of(e.Role)
	for _, want := range []struct {
		ref  string
		io   syspipe.IO
		into **syspipe.End
	}{
		{e.Out, waits, &e.out},
		{e.In, waits, &e.in},
		{e.Signal, syspipe.Blocking, &e.signal},
		{e.Await, syspipe.Blocking, &e.await},
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

func (e *end) close() {
	for _, end := range []*syspipe.End{e.out, e.in, e.signal, e.await} {
		if end != nil {
			end.Close() // the worker is done with it; there is nobody to tell
		}
	}
}

// holdsClock reports whether this end starts and stops the clock.
func (e *end) holdsClock() bool { return e.Role == receiver || e.Role == asker }

// carrier is the pipe end that the messages of the cell, not the answers to
// them, pass through on this side.
func (e *end) carrier() *syspipe.End {
	if e.Role == sender || e.Role == asker {
		return e.out
	}
	return e.in
}

// say tells the other end to go on, from a moment on the shared clock where
// messages fall due.
func (e *end) say(start int64) error {
	_, err := e.signal.Write(binary.NativeEndian.AppendUint64(nil, uint64(start)))
	return err
}

// hear waits until the other end says to go on.
func (e *end) hear() (start int64, err error) {
	var b [8]byte
	_, err = io.ReadFull(e.await, b[:])
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

// look notes the CPU that this end runs on now.
func (e *end) look() {
	if cpu, ok := placement.Current(); ok {
		e.cpus[cpu] = true
	}
}
