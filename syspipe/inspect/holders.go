package inspect

import (
	"fmt"
	"slices"
)

// checkHolders finds a process that holds a writing end needlessly, so that a reader waits in vain
// for the end of file. The writing end must be descriptor minFD or above.
func (f *finder) checkHolders(c *Channel, minFD int) {
	if c.Queued > 0 || !anyWaits(c.Readers) {
		return
	}
	for _, w := range c.Writers {
		if w.FD < minFD || f.has(HeldOpen, w.PID) || !isNeedless(w, c, f.report.all) {
			continue
		}
		const says = "%s has inherited the writing end as its %s:" +
			" until it closes that too, %s sees no end of file (%s)"
		sentence := fmt.Sprintf(says, w, w.stream(), firstWaiting(c.Readers), c.ID)
		f.add(Diagnosis{Kind: HeldOpen, Sentence: sentence, PID: w.PID}, c)
		return
	}
}

// isNeedless reports whether the process w seems not to need the writing end that it has inherited:
// from a process that writes, too, and does not wait for w, or from one that has closed its own
// ends. A process needs its output if its parent started the reader, as the shell of a pipeline.
func isNeedless(w Holder, c *Channel, all map[int]Proc) bool {
	reading := slices.ContainsFunc(c.Readers, func(r Holder) bool { return r.inCall })
	for _, other := range c.Writers {
		if reading && !other.waitsForChild && descends(w.PID, other.PID, all) {
			return true
		}
	}
	parent := all[w.PID].Parent
	if c.Kind == "fifo" || holds(c.Writers, parent) { // anybody may open a FIFO
		return false
	}
	for _, r := range c.Readers {
		related := descends(w.PID, r.PID, all) || descends(r.PID, parent, all)
		isPipeline := all[r.PID].Parent == parent && w.FD <= stderr
		isOwn := r.PID == w.PID || r.PID == parent || isPipeline
		if r.Waits && related && !isOwn && !descends(r.PID, w.PID, all) {
			return true
		}
	}
	return false
}

// descends reports whether pid is a child of the process ancestor, or a grandchild, and so on.
func descends(pid, ancestor int, all map[int]Proc) bool {
	for range all { // a bound, because parents that changed meanwhile may form a circle
		pid = all[pid].Parent
		if pid == 0 {
			return false
		}
		if pid == ancestor {
			return true
		}
	}
	return false
}
