package probe

import (
	"math/bits"
	"regexp"
	"strconv"
	"strings"
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
func Rules(goos string) []Rule {
	var of []Rule
	for _, r := range rules {
		if r.OS == goos {
			of = append(of, r)
		}
	}
	return of
}

const (
	linuxPipe   = "Linux fs/pipe.c"
	darwinPipe  = "XNU bsd/kern/sys_pipe.c"
	freebsdPipe = "FreeBSD sys/kern/sys_pipe.c"
	gvisorPipe  = "gVisor pkg/sentry/kernel/pipe, and observed under runsc"
	msDocs      = "Microsoft CreatePipe documentation"
)

var rules = []Rule{
	{"linux", "capacity/stated", "16 slots of a page each: 64 KiB with 4 KiB pages, 256 KiB with 16 KiB, 1 MiB with 64 KiB", linuxPipe + " alloc_pipe_info"},
	{"linux", "capacity/fill", "a write's last part joins the newest slot only if it fits there whole; else the rest of that slot is lost", linuxPipe + " anon_pipe_write"},
	{"linux", "slot", "one page; it is free again only when read empty", linuxPipe + " pipe_update_tail"},
	{"linux", "growth", "never by itself", linuxPipe},
	{"linux", "settable", "rounded up to a power of two, a page at least; above fs.pipe-max-size only with CAP_SYS_RESOURCE", linuxPipe + " pipe_set_size"},
	{"linux", "limit/user-pages", "beyond fs.pipe-user-pages-soft a user without privilege gets pipes of two slots", linuxPipe + " alloc_pipe_info"},
	{"linux", "all-or-nothing", "a write of at most a page; POSIX's PIPE_BUF is 4096", linuxPipe + " anon_pipe_write"},
	{"linux", "interleave", "writes of more than a page are split where they have to wait", linuxPipe + " anon_pipe_write"},
	{"linux", "poll", "writable if and only if a slot is free", linuxPipe + " pipe_poll"},
	{"linux", "broken", "EPIPE and SIGPIPE; a blocked write that was partly accepted returns the short count, with SIGPIPE all the same", linuxPipe + " anon_pipe_write"},
	{"darwin", "capacity/fill", "64 KiB for every size of write that fills it without remainder; a new pipe has 512 B and grows", darwinPipe + " choose_pipespace"},
	{"darwin", "growth", "at the start of a write that does not fit: to the first of 512, 1 K, 2 K, 4 K, 8 K, 16 K, 64 K above what is needed", darwinPipe + " choose_pipespace"},
	{"darwin", "settable", "not at all; when all pipes together reach 16 MiB none grows any more", darwinPipe + " pipe_write"},
	{"darwin", "all-or-nothing", "512 bytes, which is PIPE_BUF", "XNU bsd/sys/syslimits.h"},
	{"darwin", "poll", "writable if max(16 KiB, buffer) less the fill is at least 512", darwinPipe + " filt_pipewrite_common"},
	{"darwin", "broken", "EPIPE and SIGPIPE, and the count of a partial write is lost", darwinPipe + " pipe_write"},
	{"freebsd", "capacity/fill", "16 KiB, doubled by writes up to 64 KiB", freebsdPipe + " pipe_create, pipe_write"},
	{"freebsd", "growth", "doubles until the request fits, 64 KiB at most; none once half of kern.ipc.maxpipekva is used", freebsdPipe + " pipe_write"},
	{"freebsd", "settable", "not at all", freebsdPipe},
	{"freebsd", "all-or-nothing", "512 bytes, which is PIPE_BUF", "FreeBSD sys/sys/syslimits.h"},
	{"freebsd", "poll", "writable if 512 bytes are free", freebsdPipe + " pipe_poll"},
	{"freebsd", "broken", "a partly accepted write returns the short count without SIGPIPE; else EPIPE and SIGPIPE", freebsdPipe + " pipe_write"},
	{"gvisor", "capacity/fill", "room is counted in bytes: 64 KiB", gvisorPipe},
	{"gvisor", "slot", "one byte", gvisorPipe},
	{"gvisor", "settable", "as asked for, a page at least", gvisorPipe},
	{"gvisor", "all-or-nothing", "4096 bytes, which is PIPE_BUF", gvisorPipe},
	{"gvisor", "interleave", "writes of more than 4096 bytes are split where they have to wait", gvisorPipe},
	{"gvisor", "poll", "writable if a byte is free", gvisorPipe},
	{"windows", "capacity", "the size asked for is a suggestion; a blocking write above it is copied into the kernel whole", msDocs},
	{"windows", "all-or-nothing", "any size: each WriteFile is one entry of the queue", "ReactOS npfs NpAddDataQueueEntry (inferred)"},
	{"windows", "broken", "ERROR_NO_DATA (232), or ERROR_BROKEN_PIPE (109) for a write that was waiting; no signal", "observed under wine 8"},
	{"", "full/write", "EAGAIN where nothing fits", "POSIX write"},
	{"", "empty/read", "EAGAIN where there is nothing", "POSIX read"},
	{"", "broken/no-reader", "EPIPE", "POSIX write"},
	{"", "eof/another-writer", "no end of file while a process holds the writing end", "POSIX close"},
	{"", "eof/last-writer", "the end of file", "POSIX read"},
}

// ruleAbout returns the rule of a system, or of all, that covers a step.
func ruleAbout(os, step string) (Rule, bool) {
	best := Rule{}
	for _, r := range rules {
		if (r.OS == os || r.OS == "") && (step == r.About || strings.HasPrefix(step, r.About+"/")) && len(r.About) > len(best.About) {
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
	for {
		k := m(n)
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
