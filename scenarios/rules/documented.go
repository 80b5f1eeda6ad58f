package rules

import (
	"slices"
	"strings"
)

// A Rule is one documented property of a system's pipes.
type Rule struct {
	OS     string // as runtime.GOOS names it, or "gvisor"; "" means all systems
	About  string // the step of an experiment that the rule covers, or the beginning of several
	Says   string
	Source string // the document or source code that says so
}

// Documented returns the documented rules of a system, or nil if none are known.
func Documented(os string) []Rule {
	var found []Rule
	for _, r := range documented {
		if r.OS == os {
			found = append(found, r)
		}
	}
	return found
}

// documentedRule returns the most specific rule for a step of an experiment. It looks at the rules
// of this system and at those of all systems.
func documentedRule(os, step string) (best Rule, ok bool) {
	for _, r := range slices.Concat(Documented(os), Documented("")) {
		covers := step == r.About || strings.HasPrefix(step, r.About+"/")
		if covers && len(r.About) > len(best.About) {
			best = r
		}
	}
	return best, best.About != ""
}

const (
	linuxWrite   = "Linux fs/pipe.c anon_pipe_write"
	xnuSpace     = "XNU bsd/kern/sys_pipe.c choose_pipespace"
	xnuWrite     = "XNU bsd/kern/sys_pipe.c pipe_write"
	freebsdWrite = "FreeBSD sys/kern/sys_pipe.c pipe_write"
	gvisorPipe   = "gVisor pkg/sentry/kernel/pipe, and observed under runsc"
)

var documented = []Rule{ // each with its OS, About, Says and Source
	{"linux", "capacity/stated",
		"16 slots of a page each: 64 KiB with 4 KiB pages, 256 KiB with 16 KiB, 1 MiB with 64 " +
			"KiB",
		"Linux fs/pipe.c alloc_pipe_info"},
	{"linux", "capacity/fill",
		"a write's last part joins the newest slot only if it fits there whole; else the rest " +
			"of that slot is lost", linuxWrite},
	{"linux", "slot",
		"one page; it is free again only when read empty", "Linux fs/pipe.c pipe_update_tail"},
	{"linux", "growth", "never by itself", "Linux fs/pipe.c"},
	{"linux", "settable",
		"rounded up to a power of two, a page at least; above fs.pipe-max-size only with " +
			"CAP_SYS_RESOURCE",
		"Linux fs/pipe.c pipe_set_size"},
	{"linux", "limit/user-pages-soft",
		"beyond fs.pipe-user-pages-soft a user without privilege gets pipes of two slots",
		"Linux fs/pipe.c alloc_pipe_info"},
	{"linux", "all-or-nothing", "a write of at most a page; POSIX's PIPE_BUF is 4096", linuxWrite},
	{"linux", "interleave",
		"writes of more than a page are split where they have to wait", linuxWrite},
	{"linux", "poll", "writable if and only if a slot is free", "Linux fs/pipe.c pipe_poll"},
	{"linux", "broken",
		"EPIPE and SIGPIPE; a blocked write that was partly accepted returns the short count, " +
			"with SIGPIPE all the same", linuxWrite},
	{"darwin", "capacity/fill",
		"64 KiB for every size of write that fills it without remainder; a new pipe has 512 B " +
			"and grows", xnuSpace},
	{"darwin", "growth",
		"at the start of a write that does not fit: to the first of 512, 1 K, 2 K, 4 K, 8 K, " +
			"16 K, 64 K above what is needed", xnuSpace},
	{"darwin", "settable",
		"not at all; when all pipes together reach 16 MiB none grows any more", xnuWrite},
	{"darwin", "all-or-nothing", "512 bytes, which is PIPE_BUF", "XNU bsd/sys/syslimits.h"},
	{"darwin", "poll",
		"writable if max(16 KiB, buffer) less the fill is at least 512",
		"XNU bsd/kern/sys_pipe.c filt_pipewrite_common"},
	{"darwin", "broken", "EPIPE and SIGPIPE, and the count of a partial write is lost", xnuWrite},
	{"freebsd", "capacity/fill",
		"16 KiB, doubled by writes up to 64 KiB",
		"FreeBSD sys/kern/sys_pipe.c pipe_create, pipe_write"},
	{"freebsd", "growth",
		"doubles until the request fits, 64 KiB at most; none once half of " +
			"kern.ipc.maxpipekva is used", freebsdWrite},
	{"freebsd", "settable", "not at all", "FreeBSD sys/kern/sys_pipe.c"},
	{"freebsd", "all-or-nothing", "512 bytes, which is PIPE_BUF", "FreeBSD sys/sys/syslimits.h"},
	{"freebsd", "poll", "writable if 512 bytes are free", "FreeBSD sys/kern/sys_pipe.c pipe_poll"},
	{"freebsd", "broken",
		"a partly accepted write returns the short count without SIGPIPE; else EPIPE and " +
			"SIGPIPE", freebsdWrite},
	{"gvisor", "capacity/fill", "room is counted in bytes: 64 KiB", gvisorPipe},
	{"gvisor", "slot", "one byte", gvisorPipe},
	{"gvisor", "settable", "as asked for, a page at least", gvisorPipe},
	{"gvisor", "all-or-nothing", "4096 bytes, which is PIPE_BUF", gvisorPipe},
	{"gvisor", "interleave",
		"writes of more than 4096 bytes are split where they have to wait", gvisorPipe},
	{"gvisor", "poll", "writable if a byte is free", gvisorPipe},
	{"windows", "capacity",
		"the size asked for is a suggestion; a blocking write above it is copied into the " +
			"kernel whole",
		"Microsoft CreatePipe documentation"},
	{"windows", "all-or-nothing",
		"any size: each WriteFile is one entry of the queue",
		"ReactOS npfs NpAddDataQueueEntry (inferred)"},
	{"windows", "broken",
		"ERROR_NO_DATA (232), or ERROR_BROKEN_PIPE (109) for a write that was waiting; no " +
			"signal",
		"observed under wine 8"},
	{"", "full/write", "EAGAIN where nothing fits", "POSIX write"},
	{"", "empty/read", "EAGAIN where there is nothing", "POSIX read"},
	{"", "broken/no-reader", "EPIPE", "POSIX write"},
	{"", "eof/another-writer",
		"no end of file while a process holds the writing end", "POSIX close"},
	{"", "eof/last-writer", "the end of file", "POSIX read"},
}
