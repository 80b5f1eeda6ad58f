package probe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/syspipe"
)

func probeCapacity(t *trial) error {
	w, _, err := syspipe.Open(t.kind, 0)
	if err != nil {
		return err
	}
	n, err := w.Capacity()
	if err != nil {
		return err
	}
	if !t.onLinux() {
		step := "capacity/accepted"
		if t.onWindows() {
			step = "capacity/stated"
		}
		return t.emit(t.finding(step, n, "B", ""))
	}
	slot, err := t.slot()
	if err != nil {
		return err
	}
	return t.predicted(t.finding("capacity/stated", n, "B", "F_GETPIPE_SZ of a new pipe"), linuxSlots*slot)
}

// linuxSlots is PIPE_DEF_BUFFERS, the slots of a new pipe.
const linuxSlots = 16

func probeSlot(t *trial) error {
	n, err := t.slot()
	if err != nil {
		return err
	}
	f := t.finding("slot", n, "B", "")
	switch {
	case t.onLinux():
		return t.predicted(f, os.Getpagesize())
	case t.isPipe() && (runtime.GOOS == "darwin" || runtime.GOOS == "freebsd"):
		return t.emit(f.compare(1, "space is counted in bytes; "+darwinPipe+", "+freebsdPipe))
	}
	return t.emit(f)
}

// fillSizes are the sizes at which rules differ: about PIPE_BUF, a page, half a slot, the capacity.
func fillSizes(slot int) []int {
	sizes := []int{1, 511, 512, 2049, 4095, 4096, 4097, slot/2 + 1, 60 << 10, 64 << 10, 64<<10 + 1}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

func probeFill(t *trial) error {
	slot, err := t.slot()
	if err != nil {
		return err
	}
	for _, n := range fillSizes(slot) {
		if err := t.fillWith(n, slot); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) fillWith(n, slot int) error {
	w, r, err := t.open()
	if err != nil {
		return err
	}
	defer func() { w.Close(); r.Close() }()
	capacity, err := w.Capacity()
	if err != nil {
		return err
	}
	total, last, err := fill(w, n)
	if err != nil {
		return err
	}
	writable, werr := w.Writable()
	_, one := w.TryWrite([]byte{1})

	found := []Finding{
		t.finding(fmt.Sprintf("capacity/fill/%d", n), total, "B", fmt.Sprintf("%d-byte writes without blocking until refused", n)),
		t.finding(fmt.Sprintf("short-write/%d", n), last, "B", "what the last of these writes put in, if that was only a part of it, else 0"),
		t.finding(fmt.Sprintf("one-byte-after/%d", n), one == nil, "", "write one byte after the refusal"),
	}
	want := t.fillPrediction(n, slot, capacity)
	for i, f := range found {
		if want == nil {
			err = t.emit(f)
		} else {
			err = t.emit(f.compare(want[i], ruleSource("capacity/fill")))
		}
		if err != nil {
			return err
		}
	}
	if werr != nil {
		return nil // no poll(2) on this system
	}
	f := t.finding(fmt.Sprintf("poll/after/%d", n), writable, "", "whether poll(2) says writable after the refusal")
	if t.onLinux() {
		return t.predicted(f, false)
	}
	return t.emit(f)
}

func ruleSource(step string) string {
	r, _ := ruleAbout(runtime.GOOS, step)
	return r.Source
}

// fillPrediction computes the three findings of fillWith by the documented rule, nil where there is
// none.
func (t *trial) fillPrediction(n, slot, capacity int) []any {
	if !t.isPipe() {
		return nil
	}
	m := modelOf(runtime.GOOS, slot, capacity)
	if m == nil {
		return nil
	}
	total, last := fillModel(m, n)
	return []any{total, last, m.write(1) == 1}
}

func probeGrowth(t *trial) error {
	w, _, err := t.open()
	if err != nil {
		return err
	}
	before, err := w.Capacity()
	if err != nil {
		return err
	}
	first, err := w.TryWrite(make([]byte, 1<<20))
	if err == nil {
		err = t.emit(t.finding("growth/first-write", first, "B", "what a new pipe takes of one write of 1 MiB"))
	}
	if err != nil || !t.onLinux() {
		return err
	}
	after, err := w.Capacity()
	if err != nil {
		return err
	}
	return t.predicted(t.finding("growth/stated", after-before, "B", "F_GETPIPE_SZ of the full pipe less that of the empty one"), 0)
}

func probeSettable(t *trial) error {
	slot, err := t.slot()
	if err != nil {
		return err
	}
	for _, n := range []int{1, slot, slot + 1, 3 * slot, 100000} {
		if err := t.settable(n, slot); err != nil {
			return err
		}
	}
	if err := t.largestCapacity(slot); err != nil {
		return err
	}
	return t.limits()
}

func (t *trial) settable(asked, slot int) error {
	w, r, err := t.open()
	if err != nil {
		return err
	}
	defer func() { w.Close(); r.Close() }()
	step := fmt.Sprintf("settable/%d", asked)
	got, err := w.SetCapacity(asked)
	if errors.Is(err, errors.ErrUnsupported) {
		return t.emit(t.finding(step, "unsupported", "", "ask for this capacity"))
	}
	if err != nil {
		return t.emit(t.finding(step, "refused", "", err.Error()))
	}
	f := t.finding(step, got, "B", "ask for this capacity and read back")
	if t.onLinux() {
		return t.predicted(f, powerOfTwo(max(asked, slot)))
	}
	return t.emit(f)
}

// powerOfTwo returns the least power of two that is not below n.
func powerOfTwo(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}

// largestCapacity doubles until refused, up to a bound where kernel memory would be wasted.
func (t *trial) largestCapacity(slot int) error {
	w, r, err := t.open()
	if err != nil {
		return err
	}
	defer func() { w.Close(); r.Close() }()
	best, how := 0, ""
	for n := slot; n <= 64<<20; n *= 2 {
		got, err := w.SetCapacity(n)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil // said already
		}
		if err != nil {
			how = err.Error()
			break
		}
		best, how = got, fmt.Sprintf("doubled up to %d bytes without a refusal", n)
	}
	f := t.finding("settable/largest", best, "B", how)
	limit, ok := readNumber("/proc/sys/fs/pipe-max-size")
	// A best above the limit: the kernel found this process privileged, which the rule allows.
	if !ok || !t.onLinux() || best > limit {
		return t.emit(f)
	}
	return t.predicted(f, limit)
}

// limits reads what the system says of all pipes together.
func (t *trial) limits() error {
	if !t.onLinux() {
		return nil
	}
	for _, l := range []struct{ step, file, unit string }{
		{"limit/pipe-max-size", "/proc/sys/fs/pipe-max-size", "B"},
		{"limit/user-pages-soft", "/proc/sys/fs/pipe-user-pages-soft", "pages"},
		{"limit/user-pages-hard", "/proc/sys/fs/pipe-user-pages-hard", "pages"},
	} {
		if n, ok := readNumber(l.file); ok {
			if err := t.emit(t.finding(l.step, n, l.unit, "read "+l.file)); err != nil {
				return err
			}
		}
	}
	return nil
}

func readNumber(file string) (int, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil
}
