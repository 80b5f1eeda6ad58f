package rules

import (
	"math/bits"
	"strconv"
	"strings"
)

// Predict returns what the documented rules of a system say that a step of [Run] finds on its
// anonymous pipes, made without asking for a capacity: a number, a string or a bool. Predict
// assumes that Linux has pages of 4 KiB. ok is false if no rule predicts a value.
func Predict(os, step string) (value any, ok bool) {
	if Documented(os) == nil {
		return nil, false
	}
	const page = 4 << 10
	return system{os: os, page: page, capacity: linuxSlots * page}.predict(step)
}

// A system holds what predictions depend on.
type system struct {
	os       string // as in a [Rule]; "" if only the rules for all systems hold
	page     int    // bytes
	capacity int    // of a new pipe, in bytes
}

// predict returns what the documented rules say that a step finds; false if they predict no value.
func (s system) predict(step string) (any, bool) {
	name, n := splitStep(step)
	if strings.HasSuffix(name, "/sigpipe") {
		// FreeBSD sends it, too, if a write was taken in part: for the next write, of the rest.
		isSent := s.os != "windows"
		isKnown := s.os != ""
		return isSent, isKnown
	}
	value, ok := s.values(n)[name]
	return value, ok
}

// splitStep splits a step into its name and its size: "capacity/fill/4096" is "capacity/fill" with
// 4096, "interleave/512/read-4096" is "interleave" with 512, and "broken/after-100/error" is
// "broken/after/error" with 100.
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

// values returns what the steps of a size n find, by their names.
func (s system) values(n int) map[string]any {
	values := map[string]any{
		// POSIX says this. Windows does the same in its own words, which syspipe translates.
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
		values["interleave"] = false // longer writes may be cut, but perhaps not within the time
	}
	switch s.os {
	case "linux":
		values["capacity/stated"] = linuxSlots * s.page
		values["slot"] = s.page                // bytes to read until a full pipe takes one more
		values["all-or-nothing"] = s.page      // the longest write that is never cut
		values["poll/writable-after"] = s.page // bytes to read until poll(2) says writable
		values["poll/after"] = false           // whether poll(2) says that a full pipe is writable
		values["growth/first-write"] = s.capacity
		values["growth/stated"] = 0    // what the first write adds to the capacity
		emptied := n / s.page * s.page // a slot takes bytes again only when it was read empty
		values["broken/after/accepted"] = s.capacity + emptied
		if n > 0 { // rounded up to a power of two
			values["settable"] = 1 << bits.Len(uint(max(n, s.page)-1))
		}
	case "gvisor":
		values["capacity/stated"] = bufferSize
		values["slot"] = 1
		values["all-or-nothing"] = s.atomic()
		values["poll/writable-after"] = 1
		values["growth/first-write"] = bufferSize
		values["growth/stated"] = 0
	case "darwin", "freebsd": // what both have inherited from the same ancestor
		values["slot"] = 1
		values["all-or-nothing"] = s.atomic()
		values["poll/writable-after"] = s.atomic()
		values["growth/first-write"] = bufferSize
		if n > 0 {
			values["settable"] = "unsupported"
		}
	}
	return values
}

// atomic returns the size, in bytes, up to which the system's pipe takes a write whole or not at
// all; 0 if no such limit is known here.
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

// model returns a model of how the system's pipe takes writes; nil if that is not documented.
func (s system) model() pipeModel {
	switch s.os {
	case "linux":
		return ring(s.page, s.capacity/s.page)
	case "darwin", "freebsd", "gvisor":
		return buffer(bufferSize, s.atomic())
	}
	return nil
}

// A pipeModel answers a non-blocking write of n bytes as a pipe does: a real pipe, or one that
// follows a documented rule. It returns how many bytes are accepted; 0 is EAGAIN.
type pipeModel func(n int) (accepted int)

// ring models Linux's pipe: a ring of slots of one page each. free is how many are unused. The part
// of a write beyond whole pages goes first: into the newest slot, if all of it fits there. The rest
// of the write takes new slots.
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

// buffer models gVisor's pipe, and that of macOS and FreeBSD when it has grown. free is its room in
// bytes. A write of up to atomic bytes (PIPE_BUF) goes in whole or not at all; part of a larger one
// may go in.
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
	bufferSize = 64 << 10 // of gVisor's pipe, and of a BSD's when it has grown (BIG_PIPE_SIZE)
	linuxSlots = 16       // of a new pipe of Linux, a page each (PIPE_DEF_BUFFERS)
)

// fillModel writes n bytes at a time to m until m refuses. It returns how many bytes were accepted
// in all, and how many of the last write, if that was accepted only in part; otherwise last is 0.
func fillModel(m pipeModel, n int) (total, last int) {
	for k := m(n); k > 0; k = m(n) {
		total += k
		last = k % n // 0 if the whole write was accepted
	}
	return total, last
}
