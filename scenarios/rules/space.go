package rules

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/pipebench/pipebench/syspipe"
)

func findCapacity(t *trial) {
	w, _ := t.open()
	n := t.capacityOf(w)
	isStated := runtime.GOOS == "windows" || runtime.GOOS == "linux" && t.kind.IsPipe()
	if isStated {
		t.found("capacity/stated", n, "B", "ask the system about a new pipe")
		return
	}
	t.found("capacity/accepted", n, "B", t.how)
}

func findSlot(t *trial) { t.found("slot", t.slot(), "B", t.how) }

// fillSizes returns sizes of writes that systems treat differently: near PIPE_BUF, a page, half a
// slot of the pipe, and its capacity.
func fillSizes(slot int) []int {
	return ascending(1, 511, 512, 2049, 4095, 4096, 4097, slot/2+1, 60<<10, 64<<10, 64<<10+1)
}

// ascending returns the numbers in ascending order, without duplicates.
func ascending(n ...int) []int {
	slices.Sort(n)
	return slices.Compact(n)
}

// fillPipes fills pipes with writes of several sizes, and then tries whether one more byte fits,
// and whether poll(2) says that it fits.
func fillPipes(t *trial) {
	for _, n := range fillSizes(t.slot()) {
		w, _ := t.openNonBlocking()
		total, last := t.fill(w, n)
		if t.Err() != nil {
			return
		}
		writable, unpolled := w.Writable()
		_, one := w.TryWrite([]byte{1})
		how := fmt.Sprintf("%d-byte writes without blocking until refused", n)
		t.found(fmt.Sprintf("capacity/fill/%d", n), total, "B", how)
		how = "what the last of these writes put in, if that was only a part of it, else 0"
		t.found(fmt.Sprintf("short-write/%d", n), last, "B", how)
		how = "write one byte after the refusal"
		t.found(fmt.Sprintf("one-byte-after/%d", n), one == nil, "", how)
		if unpolled == nil { // some systems have no poll(2)
			how = "whether poll(2) says writable after the refusal"
			t.found(fmt.Sprintf("poll/after/%d", n), writable, "", how)
		}
	}
}

func findGrowth(t *trial) {
	w, _ := t.openNonBlocking()
	before := t.capacityOf(w)
	first, _ := t.tryWrite(w, make([]byte, 1<<20)) // Windows accepts all of it or nothing
	how := "what a new pipe takes of one write of 1 MiB"
	t.found("growth/first-write", first, "B", how)
	if runtime.GOOS == "linux" && t.kind.IsPipe() {
		grown := t.capacityOf(w) - before
		how = "F_GETPIPE_SZ of the full pipe less that of the empty one"
		t.found("growth/stated", grown, "B", how)
	}
}

// setCapacities asks for several capacities, and reads the limits of the system.
func setCapacities(t *trial) {
	for _, asked := range []int{1, 4096, 4097, 12288, 100000} { // whatever the size of a slot
		w, _ := t.openNonBlocking()
		if t.Err() != nil {
			return
		}
		step := fmt.Sprintf("settable/%d", asked)
		got, err := w.SetCapacity(asked)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			t.found(step, "unsupported", "", "ask for this capacity")
		case err != nil:
			t.found(step, "refused", "", err.Error())
		default:
			t.found(step, got, "B", "ask for this capacity and read back")
		}
	}
	t.findLargestCapacity()
	if !t.kind.IsPipe() || runtime.GOOS != "linux" { // Wine has a /proc too
		return
	}
	for _, l := range []struct{ step, file, unit string }{
		{"limit/pipe-max-size", "/proc/sys/fs/pipe-max-size", "B"},
		{"limit/user-pages-soft", "/proc/sys/fs/pipe-user-pages-soft", "pages"},
		{"limit/user-pages-hard", "/proc/sys/fs/pipe-user-pages-hard", "pages"},
	} {
		if n, ok := syspipe.ReadLimit(l.file); ok {
			t.found(l.step, n, l.unit, "read "+l.file)
		}
	}
}

// findLargestCapacity doubles the capacity of a pipe until the system refuses. To spare kernel
// memory, it stops at 64 MiB.
func (t *trial) findLargestCapacity() {
	w, _ := t.openNonBlocking()
	best := 0
	how := ""
	for n := t.slot(); n <= 64<<20 && t.Err() == nil; n *= 2 {
		got, err := w.SetCapacity(n)
		if errors.Is(err, errors.ErrUnsupported) {
			return // setCapacities has reported that already
		}
		if err != nil {
			how = err.Error()
			break
		}
		best = got
		how = fmt.Sprintf("doubled up to %d bytes without a refusal", n)
	}
	step := "settable/largest"
	// A privileged process may exceed the limit. In that case nothing is compared.
	limit, ok := syspipe.ReadLimit("/proc/sys/fs/pipe-max-size")
	if ok && best <= limit && t.system().os == "linux" {
		t.foundBeside(step, best, "B", how, limit, "Linux fs/pipe.c pipe_set_size")
		return
	}
	t.found(step, best, "B", how)
}

// findAllOrNothing looks for the largest write that is accepted either whole or not at all. For a
// socket it tries only usual sizes, because the room in a socket depends on earlier writes.
func findAllOrNothing(t *trial) {
	step := "all-or-nothing"
	if !t.kind.IsPipe() {
		how := "the largest size tried up to which no write was taken in part while it was filled"
		t.found(step, t.largestUnsplit(), "B", how)
		return
	}
	_, _, capacity := t.full()
	whole := 0            // the largest size known to be refused as a whole
	split := capacity + 1 // the smallest size known to be accepted in part
	for split-whole > 1 && t.Err() == nil {
		n := (whole + split) / 2
		if t.splits(n, capacity) {
			split = n
		} else {
			whole = n
		}
	}
	how := "the largest n for which a write of n bytes is refused, not taken in part, " +
		"where n - 1 bytes are free"
	t.found(step, whole, "B", how)
}

// largestUnsplit fills a socket with writes of each usual size, from small to large. It returns the
// last size before the first one that is accepted in part, or 0 if there is none.
func (t *trial) largestUnsplit() int {
	whole := 0
	for _, n := range fillSizes(t.slot()) {
		w, _ := t.openNonBlocking()
		if _, last := t.fill(w, n); last > 0 {
			break
		}
		whole = n
	}
	return whole
}

// splits reports whether the pipe accepts a part of a write of n bytes if n - 1 bytes are free.
func (t *trial) splits(n, capacity int) bool {
	w, _ := t.openNonBlocking()
	for left := capacity - (n - 1); left > 0 && t.Err() == nil; {
		k, err := w.TryWrite(make([]byte, left))
		t.Check(err)
		left -= k
	}
	k, full := t.tryWrite(w, make([]byte, n))
	return !full && k < n
}

// pollFullPipe reads a full pipe byte by byte until poll(2) calls it writable.
func pollFullPipe(t *trial) {
	w, r, capacity := t.full()
	if t.Err() != nil {
		return
	}
	step := "poll/writable-after"
	if _, err := w.Writable(); errors.Is(err, errors.ErrUnsupported) {
		t.found(step, "unsupported", "", err.Error())
		return
	}
	n := t.readUntil(r, capacity, w.Writable)
	t.found(step, n, "B", "bytes read from a full pipe until poll(2) calls it writable")
}

// writeToFullPipe finds out what a non-blocking write to a full pipe, and a read from an empty one,
// return.
func writeToFullPipe(t *trial) {
	w, r, capacity := t.full()
	if t.Err() != nil {
		return
	}
	_, err := w.TryWrite([]byte{1})
	how := "write one byte to a full pipe that does not block"
	t.found("full/write", syspipe.ErrorName(err), "", how)
	if n, err := r.Buffered(); err == nil {
		how = "ask the reading end how much is in it (FIONREAD)"
		t.foundBeside("full/buffered", n, "B", how, capacity,
			"the bytes that were accepted")
	}
	err = nil
	for err == nil {
		_, err = r.TryRead(make([]byte, 1<<20))
	}
	how = "read from an empty pipe that does not block"
	t.found("empty/read", syspipe.ErrorName(err), "", how)
}
