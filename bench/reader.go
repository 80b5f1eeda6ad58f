package bench

// This file has what a reader can do with the bytes that it reads: look at them, spend CPU time on
// them, or read them slowly.

import (
	"encoding/binary"
	"io"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// touch looks at every byte of b, if e.Cell asks the reader to do so.
func (e *endpoint) touch(b []byte) {
	if e.Cell.Touch && e.isReader() { // sumOf is a separate function so that this is inlined
		e.sum += sumOf(b)
	}
}

// sumOf adds up b, eight bytes at a time.
func sumOf(b []byte) uint64 {
	var sum uint64
	for len(b) >= 8 {
		sum += binary.NativeEndian.Uint64(b)
		b = b[8:]
	}
	for _, last := range b {
		sum += uint64(last)
	}
	return sum
}

// spend keeps the CPU busy for as long as e.Cell asks for n bytes. Only readers call it.
func (e *endpoint) spend(n int) {
	if e.Cell.Work > 0 { // spin is a separate function so that this is inlined
		e.spin(n)
	}
}

// lostCPU is the longest gap between two readings of the clock that counts as CPU time. In a longer
// gap, something else had the thread's CPU.
const lostCPU = 5 * time.Microsecond

// spin keeps the CPU busy until the thread has spent the CPU time of n bytes.
func (e *endpoint) spin(n int) {
	last := syspipe.Now()
	for end := last + time.Duration(e.Cell.Work*float64(n)); last < end; {
		now := syspipe.Now()
		if gap := now - last; gap > lostCPU {
			end += gap
		}
		last = now
	}
}

// A workingReader reads from in, and after each read spends CPU time on the bytes.
type workingReader struct {
	in io.Reader
	e  *endpoint
}

func (r workingReader) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	r.e.spend(n)
	return n, err
}

// input returns what the endpoint's messages are read from.
func (e *endpoint) input() io.Reader {
	c := e.Cell
	if c.Pattern == PatternMixed && c.Drain > 0 {
		ownCPU := c.Placement == "apart" || c.Placement == "far"
		return &slowReader{in: e.in, pace: pace{PerSecond: c.Drain}, clock: e.clock, spin: ownCPU}
	}
	if c.Work > 0 && e.isReader() {
		return workingReader{e.in, e}
	}
	return bareEnd{e.in}
}

// A bareEnd reads and writes without the guard against a concurrent Close, so that framings move
// bytes by the same calls as "raw".
type bareEnd struct{ *syspipe.End }

func (b bareEnd) Read(p []byte) (int, error) { return b.ReadUnguarded(p) }

func (b bareEnd) Write(p []byte) (int, error) { return b.WriteUnguarded(p) }
