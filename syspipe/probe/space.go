package probe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/pipebench/pipebench/syspipe/script"
)

func probeCapacity(t *trial) {
	w, _ := t.openBlocking()
	n := script.Must(w.Capacity())
	switch {
	case t.onLinux():
		t.emitPredicted(t.finding("capacity/stated", n, "B", "F_GETPIPE_SZ of a new pipe"), linuxSlots*t.page())
	case runtime.GOOS == "windows":
		t.emit(t.finding("capacity/stated", n, "B", ""))
	default:
		t.emit(t.finding("capacity/accepted", n, "B", ""))
	}
}

// linuxSlots is PIPE_DEF_BUFFERS, the slots of a new pipe.
const linuxSlots = 16

func probeSlot(t *trial) {
	f := t.finding("slot", t.slot(), "B", "")
	if t.onBSD() {
		f = f.compare(1, "space is counted in bytes; "+darwinPipe+", "+freebsdPipe)
	}
	t.emitOnLinux(f, t.page())
}

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
		w, r := t.open()
		capacity := script.Must(w.Capacity())
		total, last := fill(w, n)
		writable, unpolled := w.Writable()
		_, one := w.TryWrite([]byte{1})
		script.Check(errors.Join(w.Close(), r.Close()))

		found := []Finding{
			t.finding(fmt.Sprintf("capacity/fill/%d", n), total, "B", fmt.Sprintf("%d-byte writes without blocking until refused", n)),
			t.finding(fmt.Sprintf("short-write/%d", n), last, "B", "what the last of these writes put in, if that was only a part of it, else 0"),
			t.finding(fmt.Sprintf("one-byte-after/%d", n), one == nil, "", "write one byte after the refusal"),
		}
		if m := modelOf(runtime.GOOS, t.page(), capacity); t.isPipe() && m != nil {
			total, last := fillModel(m, n)
			rule, _ := ruleAbout(runtime.GOOS, "capacity/fill")
			for i, want := range []any{total, last, m.write(1) == 1} {
				found[i] = found[i].compare(want, rule.Source)
			}
		}
		for _, f := range found {
			t.emit(f)
		}
		if unpolled == nil { // some systems have no poll(2)
			t.emitOnLinux(t.finding(fmt.Sprintf("poll/after/%d", n), writable, "", "whether poll(2) says writable after the refusal"), false)
		}
	}
}

func probeGrowth(t *trial) {
	w, _ := t.open()
	before := script.Must(w.Capacity())
	first, err := w.TryWrite(make([]byte, 1<<20))
	if !errors.Is(err, syscall.EAGAIN) { // Windows takes such a write whole or, as here, not at all
		script.Check(err)
	}
	t.emit(t.finding("growth/first-write", first, "B", "what a new pipe takes of one write of 1 MiB"))
	if t.onLinux() {
		after := script.Must(w.Capacity())
		t.emitPredicted(t.finding("growth/stated", after-before, "B", "F_GETPIPE_SZ of the full pipe less that of the empty one"), 0)
	}
}

// probeSettable asks for capacities, and reads what the system says of all pipes together.
func probeSettable(t *trial) {
	slot := t.slot()
	for _, asked := range ascending(1, slot, slot+1, 3*slot, 100000) {
		w, r := t.open()
		step := fmt.Sprintf("settable/%d", asked)
		got, err := w.SetCapacity(asked)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			t.emit(t.finding(step, "unsupported", "", "ask for this capacity"))
		case err != nil:
			t.emit(t.finding(step, "refused", "", err.Error()))
		default:
			t.emitOnLinux(t.finding(step, got, "B", "ask for this capacity and read back"), powerOfTwo(max(asked, t.page())))
		}
		script.Check(errors.Join(w.Close(), r.Close()))
	}
	t.largestCapacity()
	if !t.onLinux() {
		return
	}
	for _, l := range []struct{ step, file, unit string }{
		{"limit/pipe-max-size", "/proc/sys/fs/pipe-max-size", "B"},
		{"limit/user-pages-soft", "/proc/sys/fs/pipe-user-pages-soft", "pages"},
		{"limit/user-pages-hard", "/proc/sys/fs/pipe-user-pages-hard", "pages"},
	} {
		if n, ok := readNumber(l.file); ok {
			t.emit(t.finding(l.step, n, l.unit, "read "+l.file))
		}
	}
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
func (t *trial) largestCapacity() {
	w, r := t.open()
	defer func() { w.Close(); r.Close() }()
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
	limit, ok := readNumber("/proc/sys/fs/pipe-max-size")
	// A best above the limit: the kernel found this process privileged, which the rule allows.
	if !ok || best > limit {
		t.emit(f)
	} else {
		t.emitOnLinux(f, limit)
	}
}

func readNumber(file string) (int, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil
}
