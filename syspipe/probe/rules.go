package probe

import (
	_ "embed"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Rule is what is documented of a system's pipes.
type Rule struct {
	OS     string // as runtime.GOOS names it; gvisor for the kernel that says it is Linux; "" for all
	About  string // the step, or the beginning of it
	Says   string
	Source string // where it was read
}

// Rules returns the documented rules of a system, nil where none are known. They were read in the
// sources they name; that this machine's kernel follows them is for [Run] to find out, and for
// another system's nothing here can.
func Rules(goos string) []Rule { return slices.Clone(rules()[goos]) }

//go:embed rules.txt
var text string

// rules are those of each system as rules.txt has them, a line each: the system, or every, the step,
// what the rule says, and where it was read.
var rules = sync.OnceValue(func() map[string][]Rule {
	of := map[string][]Rule{}
	for line := range strings.Lines(text) {
		part := strings.Split(strings.TrimSpace(line), " | ")
		r := Rule{strings.TrimPrefix(part[0], "every"), part[1], part[2], part[3]}
		of[r.OS] = append(of[r.OS], r)
	}
	return of
})

// ruleAbout returns the rule of a system, or of all, that covers a step.
func ruleAbout(os, step string) (Rule, bool) {
	best := Rule{}
	for _, r := range slices.Concat(rules()[os], rules()[""]) {
		if (step == r.About || strings.HasPrefix(step, r.About+"/")) && len(r.About) > len(best.About) {
			best = r
		}
	}
	return best, best.About != ""
}

// A model accepts a non-blocking write of n bytes as a pipe does, or as a documented rule says that
// one does; 0 is EAGAIN.
type model func(n int) (accepted int)

// ring is Linux's pipe: free slots of one page. A write's odd part first joins the newest slot, if
// it fits there whole; then new slots are taken.
func ring(slot, free int) model {
	newest, started := 0, false // bytes in the newest slot, and whether there is one
	return func(n int) int {
		left := n
		if odd := n % slot; odd > 0 && started && newest+odd <= slot {
			newest += odd
			left -= odd
		}
		for left > 0 && free > 0 {
			free--
			newest, started = min(left, slot), true
			left -= newest
		}
		return n - left
	}
}

// buffer is the BSDs' pipe, once grown: free bytes, of which a write up to PIPE_BUF goes in whole
// or not at all.
func buffer(free, atomic int) model {
	return func(n int) int {
		if n > free && n <= atomic {
			return 0
		}
		accepted := min(n, free)
		free -= accepted
		return accepted
	}
}

// grownBSD is BIG_PIPE_SIZE of macOS and FreeBSD, linuxSlots PIPE_DEF_BUFFERS, the slots of a new
// pipe.
const (
	grownBSD   = 64 << 10
	linuxSlots = 16
)

// fillModel returns what writes of n bytes put into m until it refuses, and the size of the last if
// that was short, else 0.
func fillModel(m model, n int) (total, last int) {
	for k := m(n); k > 0; k = m(n) {
		total += k
		last = k % n // 0 of a whole one
	}
	return total, last
}

// A system is what predictions depend on.
type system struct {
	os       string // as in a [Rule]; "" where only the rules of all hold
	page     int    // bytes
	capacity int    // of a new pipe, in bytes
}

// Predict returns what the documented rules of a system say that a step of [Run] finds on its
// anonymous pipes, made without asking for a capacity: a number, a string or a bool, as in a
// [Finding]. Linux is taken to have pages of 4 KiB. It measures nothing. ok is false where no rule
// predicts a value.
func Predict(goos, step string) (value any, ok bool) {
	if Rules(goos) == nil {
		return nil, false
	}
	return system{goos, 4 << 10, linuxSlots * 4 << 10}.predict(step)
}

// atomic returns how many bytes a pipe takes whole or not at all, 0 where any number is.
func (s system) atomic() int {
	return map[string]int{"linux": s.page, "gvisor": 4096, "darwin": 512, "freebsd": 512}[s.os]
}

// model returns how the system's pipe is documented to take writes, nil where it is not.
func (s system) model() model {
	switch s.os {
	case "linux":
		return ring(s.page, s.capacity/s.page)
	case "darwin", "freebsd", "gvisor":
		return buffer(grownBSD, s.atomic())
	}
	return nil
}

// numbers are what the names of steps hold, such as "capacity/fill/2049".
var numbers = regexp.MustCompile(`[0-9]+`)

// predict looks a step up by its name without its numbers, of which the first matters.
func (s system) predict(step string) (any, bool) {
	n, _ := strconv.Atoi(numbers.FindString(step))
	name := numbers.ReplaceAllString(step, "N")
	if value, ok := everywhere[name]; ok {
		return value, true
	}
	if strings.HasSuffix(name, "/sigpipe") {
		// FreeBSD sends none for a write of which a part was taken, but for that of the rest.
		return s.os != "windows", s.os != ""
	}
	if m := s.model(); m != nil && n > 0 {
		switch total, last := fillModel(m, n); name {
		case "capacity/fill/N":
			return total, true
		case "short-write/N":
			return last, true
		case "one-byte-after/N":
			return m(1) == 1, true
		}
	}
	switch {
	case name == "interleave/N/read-N": // above that it may happen, and need not within the time
		return false, s.os == "windows" || n <= s.atomic()
	case s.os == "linux" && name == "settable/N":
		return 1 << bits.Len(uint(max(n, s.page)-1)), true // the power of two that is not below
	case (s.os == "darwin" || s.os == "freebsd") && name == "settable/N":
		return "unsupported", true
	case s.os == "linux" && name == "broken/after-N/accepted":
		return s.capacity + n/s.page*s.page, true
	}
	value, ok := map[string]map[string]any{
		"linux": {
			"capacity/stated": linuxSlots * s.page, "slot": s.page, "growth/first-write": s.capacity, "growth/stated": 0,
			"all-or-nothing": s.page, "poll/writable-after": s.page, "poll/after/N": false,
		},
		"gvisor": {
			"capacity/stated": grownBSD, "slot": 1, "growth/first-write": grownBSD, "growth/stated": 0,
			"all-or-nothing": s.atomic(), "poll/writable-after": 1,
		},
		"darwin":  predictedBSD,
		"freebsd": predictedBSD,
	}[s.os][name]
	return value, ok
}

// everywhere is what POSIX says, and Windows does as far as syspipe tells it in the same words.
var everywhere = map[string]any{
	"full/write": "EAGAIN", "empty/read": "EAGAIN", "broken/no-reader": "EPIPE",
	"eof/another-writer": "EAGAIN", "eof/last-writer": "EOF",
}

// predictedBSD is what macOS and FreeBSD have from the same ancestor.
var predictedBSD = map[string]any{
	"slot": 1, "growth/first-write": grownBSD, "all-or-nothing": 512, "poll/writable-after": 512,
}
