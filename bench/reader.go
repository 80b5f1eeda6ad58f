package bench

import (
	"encoding/binary"
	"io"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// touch looks at every byte that was read, if the cell asks its reader to.
func (e *endpoint) touch(b []byte) {
	if e.Cell.Touch && e.isReader() { // sumOf is apart so that this check is inlined
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

// work is what a reader does with the bytes that it reads: nothing, if it is zero.
type work struct{ perByte float64 } // nanoseconds of CPU time

// spend takes the CPU time that n bytes cost.
func (w work) spend(n int) {
	if w.perByte > 0 { // spin is apart so that this check is inlined
		spin(time.Duration(w.perByte * float64(n)))
	}
}

// lostCPU is the longest gap between two readings of the clock that counts as work. In a longer one
// the thread lost its CPU, or was interrupted.
const lostCPU = 5 * time.Microsecond

// spin keeps the CPU busy until it has spent d of CPU time.
func spin(d time.Duration) {
	last := syspipe.Now()
	for end := last + d; last < end; {
		now := syspipe.Now()
		if gap := now - last; gap > lostCPU {
			end += gap
		}
		last = now
	}
}

// A workingReader is the input of an end whose reader works after each read.
type workingReader struct {
	in io.Reader
	e  *endpoint
}

func (r workingReader) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	r.e.work.spend(n)
	return n, err
}

// input returns what the endpoint's messages are read from.
func (e *endpoint) input() io.Reader {
	c := e.Cell
	if c.Pattern == PatternMixed && c.Drain > 0 {
		spin := c.Placement == "apart" || c.Placement == "far"
		return &slowReader{e.in, pace{PerSecond: c.Drain}, e.clock, spin}
	}
	if e.Cell.Work > 0 && e.isReader() {
		return workingReader{e.in, e}
	}
	return bareEnd{e.in}
}

// A bareEnd reads and writes an end without a guard against its being closed meanwhile, as a C
// program does. Framings move their bytes by the same calls as raw cells.
type bareEnd struct{ *syspipe.End }

func (b bareEnd) Read(p []byte) (int, error) { return b.ReadUnguarded(p) }

func (b bareEnd) Write(p []byte) (int, error) { return b.WriteUnguarded(p) }
