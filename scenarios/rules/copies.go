package rules

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unsafe"
)

const (
	copyPage   = 4096     // bytes in a page
	copyBytes  = 32 << 10 // bytes in one copy, or in a full pipe if that is less
	copyRounds = 9        // copies at each offset, of which the fastest counts
)

// copyOffsets returns the offsets within a page at which buffers begin: every offset up to 80, and
// some larger ones.
func copyOffsets() []int {
	var offsets []int
	for n := range 81 {
		offsets = append(offsets, n)
	}
	return append(offsets, 96, 100, 128, 200, 256, 500, 512, 777, 1000, 1024, 1500, 2000, 2048,
		2500, 3000, 3072, 3500, 4000, 4032, 4060, 4064, 4065, 4072, 4080, 4088, 4095)
}

// findCopyZone times reads from a pipe into buffers that begin at many offsets within a page, to
// find the offsets at which the processor copies much more slowly: the zone.
func findCopyZone(t *trial) {
	w, r := t.open()
	if t.Err() != nil {
		return
	}
	memory := make([]byte, copyBytes+3*copyPage)
	start := int(uintptr(unsafe.Pointer(&memory[0])) % copyPage)
	aligned := memory[copyPage-start:] // begins at a page boundary
	sent := make([]byte, min(copyBytes, t.capacityOf(w)))
	offsets := copyOffsets()
	best := make([]time.Duration, len(offsets))
	for range copyRounds {
		for i, offset := range offsets {
			took := t.timeRead(w, r, sent, aligned[offset:offset+len(sent)])
			if best[i] == 0 || took < best[i] {
				best[i] = took
			}
		}
	}
	if t.Err() != nil {
		return
	}
	// Each offset is also the difference of the two addresses, because the bytes in the pipe begin
	// at a page boundary.
	z := zoneOf(offsets, best)
	how := fmt.Sprintf("time reads of %d bytes into buffers at %d offsets: the differences "+
		"(destination - source) mod %d at which a copy takes twice as long or longer",
		len(sent), len(offsets), copyPage)
	t.found("copy-zone", z.String(), "", how)
	if len(z.slow) > 0 {
		how = "how many times as long a copy takes there as elsewhere, of reads from a pipe"
		t.found("copy-zone/slowdown", z.slowdown(), "times", how)
	}
}

// timeRead writes the bytes of "sent" to the pipe, and returns how long it takes to read them back
// into "into".
func (t *trial) timeRead(w io.Writer, r io.Reader, sent, into []byte) time.Duration {
	if t.Err() != nil {
		return 0
	}
	_, err := w.Write(sent)
	if !t.Check(err) {
		return 0
	}
	began := time.Now()
	_, err = io.ReadFull(r, into)
	took := time.Since(began)
	t.Check(err)
	return took
}

// A zone holds the differences of addresses at which copies are slow: destination minus source,
// modulo copyPage.
type zone struct {
	slow    []int         // the differences, ascending
	inside  time.Duration // median time of a copy in the zone
	outside time.Duration // median time of the other copies
}

// zoneOf finds the offsets at which a copy takes at least twice the median time. If copies are slow
// at more than half of the offsets, it finds none.
func zoneOf(offsets []int, times []time.Duration) zone {
	var z zone
	limit := 2 * median(times)
	var inside, outside []time.Duration
	for i, took := range times {
		if took < limit {
			outside = append(outside, took)
			continue
		}
		z.slow = append(z.slow, offsets[i])
		inside = append(inside, took)
	}
	z.inside = median(inside)
	z.outside = median(outside)
	return z
}

// slowdown returns the time of a copy in the zone divided by the time of a copy outside it, or 0 if
// this is not known.
func (z zone) slowdown() float64 {
	if z.outside == 0 {
		return 0
	}
	tenths := 10 * z.inside / z.outside
	return float64(tenths) / 10
}

// String writes the zone as ranges, for example "1..31" or "4, 8..16". An empty zone is "none".
func (z zone) String() string {
	if len(z.slow) == 0 {
		return "none"
	}
	var ranges []string
	for first := 0; first < len(z.slow); {
		last := first
		for last+1 < len(z.slow) && z.slow[last+1] == z.slow[last]+1 {
			last++
		}
		text := fmt.Sprint(z.slow[first])
		if last > first {
			text += fmt.Sprintf("..%d", z.slow[last])
		}
		ranges = append(ranges, text)
		first = last + 1
	}
	return strings.Join(ranges, ", ")
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}
