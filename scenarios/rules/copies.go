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
	slow, slowdown := zoneOf(offsets, best)
	how := fmt.Sprintf("time reads of %d bytes into buffers at %d offsets: the differences "+
		"(destination - source) mod %d at which a copy takes twice as long or longer",
		len(sent), len(offsets), copyPage)
	t.found("copy-zone", rangesOf(slow), "", how)
	if len(slow) > 0 {
		how = "how many times as long a copy takes there as elsewhere, of reads from a pipe"
		t.found("copy-zone/slowdown", slowdown, "times", how)
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

// zoneOf returns the offsets at which a copy takes at least twice the median time, ascending, and
// how many times as long it takes there as elsewhere. If copies are slow at more than half of the
// offsets, it finds none.
func zoneOf(offsets []int, times []time.Duration) (slow []int, slowdown float64) {
	limit := 2 * median(times)
	var inside, outside []time.Duration
	for i, took := range times {
		if took < limit {
			outside = append(outside, took)
			continue
		}
		slow = append(slow, offsets[i])
		inside = append(inside, took)
	}
	if len(inside) == 0 || len(outside) == 0 { // without outside, the clock is too coarse
		return nil, 0
	}
	tenths := 10 * median(inside) / median(outside)
	return slow, float64(tenths) / 10
}

// rangesOf writes ascending numbers as ranges, for example "1..31" or "4, 8..16", or "none".
func rangesOf(numbers []int) string {
	if len(numbers) == 0 {
		return "none"
	}
	var ranges []string
	for first := 0; first < len(numbers); {
		last := first
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		text := fmt.Sprint(numbers[first])
		if last > first {
			text += fmt.Sprintf("..%d", numbers[last])
		}
		ranges = append(ranges, text)
		first = last + 1
	}
	return strings.Join(ranges, ", ")
}

func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}
