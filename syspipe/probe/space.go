package probe

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/script"
)

func probeCapacity(t *trial) {
	w, _ := t.openBlocking()
	step, how := "capacity/accepted", ""
	if runtime.GOOS == "windows" || runtime.GOOS == "linux" && t.kind.IsPipe() {
		step, how = "capacity/stated", "ask the system about a new pipe"
	}
	t.found(step, script.Must(w.Capacity()), "B", how)
}

func probeSlot(t *trial) { t.found("slot", t.slot(), "B", "") }

// fillSizes returns the sizes at which rules differ: about PIPE_BUF, a page, half a slot, the
// capacity.
func fillSizes(slot int) []int {
	return ascending(1, 511, 512, 2049, 4095, 4096, 4097, slot/2+1, 60<<10, 64<<10, 64<<10+1)
}

// ascending returns the numbers in order, each once.
func ascending(n ...int) []int {
	slices.Sort(n)
	return slices.Compact(n)
}

func probeFill(t *trial) {
	for _, n := range fillSizes(t.slot()) {
		w, _ := t.open()
		total, last := fill(w, n)
		writable, unpolled := w.Writable()
		_, one := w.TryWrite([]byte{1})
		t.found(fmt.Sprintf("capacity/fill/%d", n), total, "B", fmt.Sprintf("%d-byte writes without blocking until refused", n))
		t.found(fmt.Sprintf("short-write/%d", n), last, "B", "what the last of these writes put in, if that was only a part of it, else 0")
		t.found(fmt.Sprintf("one-byte-after/%d", n), one == nil, "", "write one byte after the refusal")
		if unpolled == nil { // some systems have no poll(2)
			t.found(fmt.Sprintf("poll/after/%d", n), writable, "", "whether poll(2) says writable after the refusal")
		}
	}
}

func probeGrowth(t *trial) {
	w, _ := t.open()
	before := script.Must(w.Capacity())
	first, _ := tryWrite(w, make([]byte, 1<<20)) // Windows takes such a write whole or, as here, not at all
	t.found("growth/first-write", first, "B", "what a new pipe takes of one write of 1 MiB")
	if runtime.GOOS == "linux" && t.kind.IsPipe() {
		t.found("growth/stated", script.Must(w.Capacity())-before, "B", "F_GETPIPE_SZ of the full pipe less that of the empty one")
	}
}

// probeSettable asks for capacities, and reads what the system says of all pipes together.
func probeSettable(t *trial) {
	for _, asked := range []int{1, 4096, 4097, 12288, 100000} { // whatever a slot is here, for the names of steps
		w, _ := t.open()
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
	t.largestCapacity()
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

// largestCapacity doubles until refused, up to a bound where kernel memory would be wasted.
func (t *trial) largestCapacity() {
	w, _ := t.open()
	best, how := 0, ""
	for n := t.slot(); n <= 64<<20; n *= 2 {
		got, err := w.SetCapacity(n)
		if errors.Is(err, errors.ErrUnsupported) {
			return // said already
		}
		if err != nil {
			how = err.Error()
			break
		}
		best, how = got, fmt.Sprintf("doubled up to %d bytes without a refusal", n)
	}
	f := t.finding("settable/largest", best, "B", how)
	// A best above the limit: the kernel found this process privileged, which the rule allows.
	if limit, ok := syspipe.ReadLimit("/proc/sys/fs/pipe-max-size"); ok && best <= limit && t.system().os == "linux" {
		f = f.compare(limit, "Linux fs/pipe.c pipe_set_size")
	}
	t.emit(f)
}

// probeAllOrNothing looks for the largest write that never goes in by halves: by bisection, as a
// write that is split stays so when larger. What fits a socket depends on how it was written, so
// there is no saying what is free: for one, the usual sizes are tried.
func probeAllOrNothing(t *trial) {
	if !t.kind.IsPipe() {
		whole := 0
		for _, n := range fillSizes(t.slot()) {
			w, _ := t.open()
			if _, last := fill(w, n); last > 0 {
				break
			}
			whole = n
		}
		t.found("all-or-nothing", whole, "B", "the largest size tried below which writes that fill it were never taken in part")
		return
	}
	_, _, capacity := t.full()
	whole, split := 0, capacity+1
	for split-whole > 1 {
		if n := (whole + split) / 2; t.splits(n, capacity) {
			split = n
		} else {
			whole = n
		}
	}
	t.found("all-or-nothing", whole, "B", "the largest n of which a write, with n - 1 bytes free, is refused rather than taken in part")
}

// splits reports whether a write of n bytes is taken in part where n - 1 bytes are free.
func (t *trial) splits(n, capacity int) bool {
	w, _ := t.open()
	for left := capacity - (n - 1); left > 0; {
		left -= script.Must(w.TryWrite(make([]byte, left)))
	}
	k, full := tryWrite(w, make([]byte, n))
	return !full && k < n
}

func probePoll(t *trial) {
	w, r, capacity := t.full()
	if _, err := w.Writable(); errors.Is(err, errors.ErrUnsupported) {
		t.found("poll/writable-after", "unsupported", "", err.Error())
		return
	}
	n := readUntil(r, capacity, w.Writable)
	t.found("poll/writable-after", n, "B", "bytes read from a full pipe until poll(2) calls it writable")
}

func probeFull(t *trial) {
	w, r, capacity := t.full()
	_, err := w.TryWrite([]byte{1})
	t.found("full/write", syspipe.ErrorName(err), "", "write one byte to a full pipe that does not block")
	if n, err := r.Buffered(); err == nil {
		f := t.finding("full/buffered", n, "B", "ask the reading end how much is in it (FIONREAD)")
		t.emit(f.compare(capacity, "the bytes that were accepted"))
	}
	for err = nil; err == nil; {
		_, err = r.TryRead(make([]byte, 1<<20))
	}
	t.found("empty/read", syspipe.ErrorName(err), "", "read from an empty pipe that does not block")
}
