package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// rests says in which calls the process pauses, and where it waits besides its standard streams, as
// in "sleeps in futex". It returns "" if a thread of it does anything else, or if it reads a pipe
// that another process may write, or a socket that another process of the report may write.
func (r *Report) rests(p Proc) string {
	for _, c := range r.Channels {
		other := func(h Holder) bool {
			return h.PID != p.PID && (c.Kind != "socket" || r.Proc(h.PID).PID != 0)
		}
		if pidWaits(c.Readers, p.PID) && slices.ContainsFunc(c.Writers, other) {
			return ""
		}
	}
	var rests []string
	for _, t := range p.Threads {
		text := "sleeps in " + t.In
		if t.End != "" {
			text = fmt.Sprintf("waits at descriptor %d, %s", t.FD, t.End)
		} else if !t.pauses() {
			return ""
		}
		if !slices.Contains(rests, text) {
			rests = append(rests, text)
		}
	}
	if p.running {
		return ""
	}
	return strings.Join(rests, " and ")
}

// checkPauses finds a process that rests while another waits for what it prints.
func (f *finder) checkPauses(c *Channel) {
	if c.Queued != 0 || !anyWaits(c.Readers) {
		return
	}
	reader := firstWaiting(c.Readers)
	for _, w := range c.Writers {
		rest := f.report.rests(f.report.Proc(w.PID))
		ended := f.has(PeerLeft, w.PID)
		needless := isNeedless(w, c, f.report.all)
		if w.FD != stdout || w.PID == reader.PID || rest == "" || ended || needless {
			continue
		}
		who := w.String()
		for _, parent := range c.Writers {
			if parent.waitsForChild && parent.PID == f.report.Proc(w.PID).Parent {
				who = fmt.Sprintf("%s waits for its child %s, which", parent, w)
			}
		}
		does := "neither reads nor writes: it "
		recent := f.report.Proc(w.PID).Recent
		if recent != nil && recent.ReadBytes+recent.WriteBytes > 0 {
			does = fmt.Sprintf("read %d bytes and wrote %d bytes in the last %v: in between it ",
				recent.ReadBytes, recent.WriteBytes, f.report.Look.Round(time.Millisecond))
		}
		const says = "%s %s%s, and %s may wait for its stdout (%s)"
		sentence := fmt.Sprintf(says, who, does, rest, reader, c.ID)
		f.add(Diagnosis{Kind: Pauses, Sentence: sentence, PID: w.PID}, c)
	}
}

// Proc returns the process with this PID, or an empty one if the report has none.
func (r *Report) Proc(pid int) Proc {
	for _, p := range r.Processes {
		if p.PID == pid {
			return p
		}
	}
	return Proc{}
}

// RunShare returns how busy p was between the two looks of [Over]: the share of that time, from 0
// to 1, in which its busiest thread ran or waited for a CPU. It is 0 if this is not known.
func (r *Report) RunShare(p Proc) float64 {
	if p.Recent == nil || r.Look <= 0 {
		return 0
	}
	return min(1, float64(p.Recent.Runnable)/float64(r.Look))
}

// Computes reports whether a thread of the process hardly rested between the two looks.
func (r *Report) Computes(p Proc) bool { return !p.Stopped && r.RunShare(p) >= busyShare }

// Thresholds for what a process did between two looks.
const (
	busyShare = 0.9  // a thread runnable for more of the time hardly rests
	fewBytes  = 1024 // fewer may just wake up the program's own threads
)

// checkProcess finds what is wrong with the process itself, not with its channels.
func (f *finder) checkProcess(p Proc) {
	if p.Stopped {
		const says = "is stopped, as by SIGSTOP or Ctrl-Z, " +
			"and does nothing until it gets SIGCONT (kill -CONT %d)"
		f.addProcess(Stopped, p, fmt.Sprintf(says, p.PID))
	}
	for _, t := range p.Threads {
		if t.In == "open" {
			path := ""
			if t.Path != "" {
				path = " of " + t.Path
			}
			f.addProcess(OpensFIFO, p, "waits in open"+path+
				" until somebody opens the other end of that FIFO")
			break
		}
	}
	f.checkSpins(p)
}

// checkSpins finds a process that kept a CPU busy between the two looks, and moved next to nothing.
func (f *finder) checkSpins(p Proc) {
	if !f.report.Computes(p) || p.Recent.ReadBytes+p.Recent.WriteBytes >= fewBytes {
		return
	}
	const says = "ran, or waited for a CPU, for %.0f %% of the last %v, and moved %d bytes in %d " +
		"reads and writes: it computes, or it spins"
	f.addProcess(Spins, p, fmt.Sprintf(says, 100*f.report.RunShare(p),
		f.report.Look.Round(time.Millisecond), p.Recent.ReadBytes+p.Recent.WriteBytes,
		p.Recent.ReadCalls+p.Recent.WriteCalls))
}
