package inspect

import (
	"fmt"
	"time"
)

// pausesIn returns the system call in which the process waits for time to pass, or for another of
// its threads. It returns "" if the process does not pause.
func (p Proc) pausesIn() string {
	if p.running || len(p.Threads) == 0 || !p.Threads[0].pauses() {
		return ""
	}
	return p.Threads[0].In
}

// checkPauses finds a process that pauses while another waits for what it prints.
func (f *finder) checkPauses(c *Channel) {
	if c.Queued != 0 || !anyWaits(c.Readers) {
		return
	}
	reader := firstWaiting(c.Readers)
	for _, w := range c.Writers {
		call := f.report.Proc(w.PID).pausesIn()
		ended := f.has(PeerLeft, w.PID)
		if w.FD != stdout || w.PID == reader.PID || call == "" || ended {
			continue
		}
		waits := "waits"
		if reader.edge { // a Go program watches pipes that it may not be reading
			waits = "may wait"
		}
		const says = "%s neither reads nor writes: it sleeps in %s, and %s %s for its stdout (%s)"
		sentence := fmt.Sprintf(says, w, call, reader, waits, c.ID)
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

// Computes reports whether a thread of the process was never at rest between the two looks.
func (r *Report) Computes(p Proc) bool { return !p.Stopped && r.RunShare(p) >= busyShare }

// Thresholds for what a process did between two looks.
const (
	busyShare = 0.9                   // a thread runnable for more of the time never rests
	idleShare = 0.5                   // a thread running for less of the time mostly rests
	enoughCPU = 50 * time.Millisecond // more CPU time than the start of a program takes
	manyCalls = 100                   // if more reads and writes move no byte, it is no accident
	fewBytes  = 1024                  // fewer may just wake up the program's own threads
	manyFull  = 4                     // this many writes, each of a whole block, are no accident
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
	if p.SIGTERM == "ignored" {
		f.addProcess(IgnoresTerm, p,
			"ignores SIGTERM: it ends at the end of its input, if at all, or by SIGKILL")
	}
	look := f.report.Look
	if p.Recent == nil || p.Total == nil || look <= 0 {
		return
	}
	if how, sure := p.spins(look); how != "" && sure {
		f.addProcess(Spins, p, how)
	}
	f.checkBuffers(p)
}

// checkBuffers finds a process that holds back its output: it mostly rests, and has written only
// whole blocks of 4 or 8 KiB since its start.
func (f *finder) checkBuffers(p Proc) {
	block := p.Total.blockSize()
	untilFirstLook := p.Total.since(p.Recent)
	rests := p.Recent.busy.share(f.report.Look) <= idleShare
	if block == 0 || block != untilFirstLook.blockSize() || !rests {
		return
	}
	output := f.report.outputOf(p.PID)
	if output == nil || output.Waits {
		return
	}
	const says = "holds its output back: %d writes so far, of %d bytes each;" +
		" what it prints waits until so much is there (flush, python -u, stdbuf -oL)"
	f.addProcess(Buffers, p, fmt.Sprintf(says, p.Total.WriteCalls, block))
}

// spins says how a process kept a CPU busy for nothing between two looks at it, or "" if it did
// not. sure is false if the process got too little CPU time to tell.
func (p Proc) spins(between time.Duration) (how string, sure bool) {
	u := p.Recent
	look := between.Round(time.Millisecond)
	calls := u.ReadCalls + u.WriteCalls
	moved := u.ReadBytes + u.WriteBytes
	inVain := calls > manyCalls && moved < calls/2
	neverRested := float64(u.Runnable) > busyShare*float64(between) && u.busy.runnable
	switch {
	case inVain && u.busy.share(between) > idleShare:
		const says = "spins: %d reads and writes in %v moved %d bytes;" +
			" it asks again where it should wait (poll)"
		how = fmt.Sprintf(says, calls, look, moved)
	case neverRested && moved < fewBytes:
		const says = "was never at rest for %v and moved %d bytes: it computes, or it spins"
		how = fmt.Sprintf(says, look, moved)
	}
	return how, u.busy.ran >= enoughCPU
}

// share returns the share of a period in which a thread ran. The time that the thread waited for a
// CPU is taken off the period first.
func (t cpuTime) share(period time.Duration) float64 {
	possible := max(period-t.waited, t.ran, 1) // never 0, because it is a divisor
	return float64(t.ran) / float64(possible)
}

// blockSize returns the size of a process's writes if all of them are blocks of 4 KiB, or all of 8
// KiB. It returns 0 for other processes, and for one that just passes on what it reads.
func (u *Usage) blockSize() int64 {
	if u.WriteCalls < manyFull {
		return 0
	}
	size := u.WriteBytes / u.WriteCalls
	sameSize := size*u.WriteCalls == u.WriteBytes
	isBlock := size == 4<<10 || size == 8<<10
	passesOn := u.ReadBytes >= u.ReadCalls*size/2
	if !sameSize || !isBlock || passesOn {
		return 0
	}
	return size
}

// outputOf returns the standard output of a process, or nil if it is no pipe, FIFO or socket.
func (r *Report) outputOf(pid int) *Holder {
	for _, c := range r.Channels {
		for _, h := range c.Writers {
			if h.PID == pid && h.FD == stdout {
				return &h
			}
		}
	}
	return nil
}
