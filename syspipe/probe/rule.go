package probe

// A Rule is what is documented of a system's pipes.
type Rule struct {
	OS     string // as runtime.GOOS names it
	About  string // the step, or the beginning of it
	Says   string
	Source string // where it was read
}

// Rules returns the documented rules of a system, nil where none are known. They were read in the sources they name; that this machine's
// kernel follows them is for [Run] to find out, and for another system's nothing here can.
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
	{"windows", "capacity", "the size asked for is a suggestion; a blocking write above it is copied into the kernel whole", msDocs},
	{"windows", "all-or-nothing", "any size: each WriteFile is one entry of the queue", "ReactOS npfs NpAddDataQueueEntry (inferred)"},
	{"windows", "broken", "ERROR_NO_DATA (232), or ERROR_BROKEN_PIPE (109) for a write that was waiting; no signal", "observed under wine 8"},
}

// ruleAbout returns the rule of a system that covers a step.
func ruleAbout(goos, step string) (Rule, bool) {
	best := Rule{}
	for _, r := range rules {
		if r.OS == goos && covers(r.About, step) && len(r.About) > len(best.About) {
			best = r
		}
	}
	return best, best.About != ""
}

func covers(about, step string) bool {
	return step == about || len(step) > len(about) && step[:len(about)] == about && step[len(about)] == '/'
}
