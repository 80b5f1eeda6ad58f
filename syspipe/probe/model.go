package probe

// A model accepts non-blocking writes as a documented rule says a pipe does.
type model interface {
	write(n int) (accepted int) // 0 is EAGAIN
}

// ring is Linux's pipe: slots of one page. A write's odd part first joins the newest slot, if it fits there whole; then new slots are taken.
type ring struct {
	slot, free int
	newest     int // bytes in the newest slot
	started    bool
}

func newRing(slot, capacity int) *ring { return &ring{slot: slot, free: capacity / slot} }

func (r *ring) write(n int) int {
	left := n
	if odd := n % r.slot; odd > 0 && r.started && r.newest+odd <= r.slot {
		r.newest += odd
		left -= odd
	}
	for left > 0 && r.free > 0 {
		r.free--
		r.started = true
		r.newest = min(left, r.slot)
		left -= r.newest
	}
	return n - left
}

// buffer is the BSDs' pipe, once grown: bytes, of which a write up to PIPE_BUF goes in whole or not at all.
type buffer struct{ free, atomic int }

// grownBSD is BIG_PIPE_SIZE, and bsdPipeBuf is PIPE_BUF, on macOS and FreeBSD.
const (
	grownBSD   = 64 << 10
	bsdPipeBuf = 512
)

func (b *buffer) write(n int) int {
	if n > b.free && n <= b.atomic {
		return 0
	}
	accepted := min(n, b.free)
	b.free -= accepted
	return accepted
}

// modelOf returns how a system's pipe is documented to take writes, nil where it is not.
func modelOf(goos string, slot, capacity int) model {
	switch goos {
	case "linux":
		if slot > 0 {
			return newRing(slot, capacity)
		}
	case "darwin", "freebsd":
		return &buffer{free: grownBSD, atomic: bsdPipeBuf}
	}
	return nil
}

// fillModel returns what writes of n bytes put into m until it refuses, and the size of the last if that was short, else 0.
func fillModel(m model, n int) (total, last int) {
	for {
		k := m.write(n)
		if k == 0 {
			return total, last
		}
		total += k
		last = 0
		if k < n {
			last = k
		}
	}
}

// Fill returns the bytes that non-blocking writes of n bytes are documented to put into a pipe of a system: of the given capacity and slot
// on Linux, grown as far as it goes on macOS and FreeBSD. ok is false where nothing is documented.
func Fill(goos string, capacity, slot, n int) (total int, ok bool) {
	m := modelOf(goos, slot, capacity)
	if m == nil || n <= 0 {
		return 0, false
	}
	total, _ = fillModel(m, n)
	return total, true
}
