package rules

import (
	"math/bits"
	"strconv"
	"strings"
)

// Predict returns the value that an experiment of [Run] should find in a step such as "slot", by
// the documented rules: a number, a string or a bool. It assumes an anonymous pipe of the usual
// capacity and pages of 4 KiB.
func Predict(os, step string) (value any, ok bool) {
	if Documented(os) == nil {
		return nil, false
	}
	const page = 4 << 10
	return system{os: os, page: page, capacity: linuxSlots * page}.predict(step)
}

// A system holds what the predictions depend on.
type system struct {
	os       string // as in a [Rule]; "" if only the rules for all operating systems apply
	page     int    // bytes
	capacity int    // of a new pipe, in bytes
}

// predict returns the value that an experiment should find in a step such as "slot", if the
// documented rules predict one.
func (s system) predict(step string) (any, bool) {
	name, n := splitStep(step)
	if strings.HasSuffix(name, "/sigpipe") {
		// On FreeBSD, after a write that was accepted in part, the next write gets the signal.
		isSent := s.os != "windows"
		isKnown := s.os != ""
		return isSent, isKnown
	}
	value, ok := s.values(n)[name]
	return value, ok
}

// splitStep splits a step into its name and the size in it: "interleave/512/read-4096" gives
// "interleave" and 512.
func splitStep(step string) (name string, n int) {
	var names []string
	for _, part := range strings.Split(step, "/") {
		if strings.HasPrefix(part, "read-") {
			continue
		}
		digits, isAfter := strings.CutPrefix(part, "after-")
		size, err := strconv.Atoi(digits)
		if err != nil {
			names = append(names, part)
			continue
		}
		n = size
		if isAfter {
			names = append(names, "after")
		}
	}
	return strings.Join(names, "/"), n
}

// values returns what the documented rules predict, by the names of the steps, such as "slot". The
// parameter n is the size that the steps try, in bytes, or 0.
func (s system) values(n int) map[string]any {
	values := map[string]any{
		// POSIX says this. Windows does the same with error codes of its own. Package syspipe
		// translates these codes.
		"full/write":         "EAGAIN",
		"empty/read":         "EAGAIN",
		"broken/no-reader":   "EPIPE",
		"eof/another-writer": "EAGAIN",
		"eof/last-writer":    "EOF",
	}
	if m := s.model(); m != nil && n > 0 {
		values["capacity/fill"], values["short-write"] = fillModel(m, n)
		values["one-byte-after"] = m(1) == 1
	}
	if s.os == "windows" || n <= s.atomic() {
		values["interleave"] = false // a longer write may be cut, but need not be while we look
	}
	switch s.os {
	case "linux":
		values["capacity/stated"] = linuxSlots * s.page
		values["slot"] = s.page                // bytes to read before a full pipe accepts one more
		values["all-or-nothing"] = s.page      // the longest write that is never accepted in part
		values["poll/writable-after"] = s.page // bytes to read before poll(2) calls it writable
		values["poll/after"] = false           // whether poll(2) calls a full pipe writable
		values["growth/first-write"] = s.capacity
		values["growth/stated"] = 0    // by how much the first write raises the capacity
		emptied := n / s.page * s.page // a slot is used again only after all its bytes were read
		values["broken/after/accepted"] = s.capacity + emptied
		values["broken/after/error"] = "EPIPE"
		if n > 0 { // Linux rounds up to a power of two
			values["settable"] = 1 << bits.Len(uint(max(n, s.page)-1))
		}
	case "gvisor":
		values["capacity/stated"] = bufferSize
		values["slot"] = 1
		values["all-or-nothing"] = s.atomic()
		values["poll/writable-after"] = 1
		values["growth/first-write"] = bufferSize
		values["growth/stated"] = 0
	case "darwin", "freebsd": // macOS has its pipes from FreeBSD
		values["capacity/accepted"] = bufferSize // the system does not state it
		values["slot"] = 1
		values["all-or-nothing"] = s.atomic()
		values["poll/writable-after"] = s.atomic()
		values["broken/after/error"] = "EPIPE"
		values["growth/first-write"] = bufferSize
		if n > 0 {
			values["settable"] = "unsupported"
		}
	}
	return values
}

// atomic returns the size, in bytes, up to which the pipe accepts a write whole or not at all. It
// returns 0 if this is not known.
func (s system) atomic() int {
	switch s.os {
	case "linux":
		return s.page
	case "gvisor":
		return 4096
	case "darwin", "freebsd":
		return 512
	}
	return 0
}

// model returns a model of how the system's pipe accepts writes, or nil if that is not documented.
func (s system) model() pipeModel {
	switch s.os {
	case "linux":
		return ring(s.page, s.capacity/s.page)
	case "darwin", "freebsd", "gvisor":
		return buffer(bufferSize, s.atomic())
	}
	return nil
}

// A pipeModel stands for one pipe, real or imaginary. Each call makes a non-blocking write of n
// bytes and returns how many of them the pipe accepts; 0 means EAGAIN.
type pipeModel func(n int) (accepted int)

// ring models a pipe of Linux that has this many free slots of one page. If the last bytes of a
// write do not fill a slot, they go into the newest slot, if all of them fit there.
func ring(slot, free int) pipeModel {
	newest := 0 // bytes in the newest slot
	started := false
	return func(n int) int {
		left := n
		if odd := n % slot; odd > 0 && started && newest+odd <= slot {
			newest += odd
			left -= odd
		}
		for left > 0 && free > 0 {
			free--
			newest = min(left, slot)
			started = true
			left -= newest
		}
		return n - left
	}
}

// buffer models a pipe with a number of free bytes: a pipe of gVisor, or one of macOS or FreeBSD
// that has grown. A write of at most "atomic" bytes (PIPE_BUF) is accepted whole or not at all.
func buffer(free, atomic int) pipeModel {
	return func(n int) int {
		if n > free && n <= atomic {
			return 0
		}
		accepted := min(n, free)
		free -= accepted
		return accepted
	}
}

const (
	bufferSize = 64 << 10 // of gVisor's pipe, and of a BSD's pipe that has grown (BIG_PIPE_SIZE)
	linuxSlots = 16       // of a new pipe of Linux, one page each (PIPE_DEF_BUFFERS)
)

// fillModel makes writes of n bytes to the pipe m until m refuses one. The result last is how many
// bytes of the last write before that were accepted, or 0 if all were.
func fillModel(m pipeModel, n int) (total, last int) {
	for k := m(n); k > 0; k = m(n) {
		total += k
		last = k % n // 0 if the whole write was accepted
	}
	return total, last
}
