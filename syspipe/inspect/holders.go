package inspect

import (
	"fmt"
	"maps"
	"slices"
)

// leakCount is how many channels that lead nowhere count as a leak. A few such channels are normal:
// programs wake up their own threads with them.
const leakCount = 16

// checkLeaks finds processes with many channels that lead nowhere: the process has both ends, or
// nobody has the other end.
func (f *finder) checkLeaks() {
	owned := map[int][]*Channel{} // by PID
	closedOf := map[int]int{}     // by PID: how many of its channels have lost the other end
	for _, c := range f.report.Channels {
		pid, oneHolder := c.Owner()
		closed := c.NoReader || c.NoWriter
		toItself := len(c.Writers) > 0 && len(c.Readers) > 0
		if oneHolder && (closed || toItself) {
			owned[pid] = append(owned[pid], &c)
		}
		if oneHolder && closed {
			closedOf[pid]++
		}
	}
	for _, pid := range slices.Sorted(maps.Keys(owned)) {
		list := owned[pid]
		if len(list) < leakCount {
			continue
		}
		holder := slices.Concat(list[0].Writers, list[0].Readers)[0]
		closed := closedOf[pid]
		const says = "%s holds %d pipes or sockets that lead nowhere: " +
			"of %d both ends are its own, of %d the other end is closed; " +
			"it leaks descriptors if they grow in number"
		text := fmt.Sprintf(says, holder, len(list), len(list)-closed, closed)
		f.add(Diagnosis{Kind: Leak, Sentence: text, PID: pid}, list...)
	}
}

// checkHolders finds a process that holds a writing end needlessly, so that a reader waits in vain
// for the end of file.
func (f *finder) checkHolders(c *Channel) {
	if c.Queued > 0 || !anyWaits(c.Readers) {
		return
	}
	for _, w := range c.Writers {
		why := whyNeedless(w, c, f.report.all)
		if why == "" || f.has(HeldOpen, w.PID) {
			continue
		}
		const says = "%s holds the writing end as its %s, %s:" +
			" until it closes that too, %s sees no end of file (%s)"
		reader := firstWaiting(c.Readers)
		sentence := fmt.Sprintf(says, w, w.stream(), why, reader, c.ID)
		f.add(Diagnosis{Kind: HeldOpen, Sentence: sentence, PID: w.PID}, c)
		return
	}
}

// whyNeedless says why the process w seems not to need the writing end that it has inherited. It
// returns "" if w may need that end.
func whyNeedless(w Holder, c *Channel, all map[int]Proc) string {
	reading := slices.ContainsFunc(c.Readers, func(r Holder) bool { return r.inCall })
	for _, other := range c.Writers {
		// An ancestor that waits for its child leaves the writing to the child.
		if reading && !other.waitsForChild && descends(w.PID, other.PID, all) {
			return fmt.Sprintf("which it has from %s", other)
		}
	}
	if c.Kind == "fifo" {
		return "" // anybody may open a FIFO
	}
	parent := all[w.PID].Parent
	for _, r := range c.Readers {
		if r.PID == w.PID || !r.Waits {
			continue
		}
		if descends(w.PID, r.PID, all) && parent != r.PID && !holds(c.Writers, parent) {
			// The parent of w descends from the reader, and has closed the writing end.
			return fmt.Sprintf("and %d, which started it, does not", parent)
		}
		// If the process that started w has ended, init or another ancestor has become the parent
		// of w. The reader descends from that ancestor, too.
		isOrphan := descends(r.PID, parent, all) && !startedReader(c, parent, all)
		if isOrphan && !descends(r.PID, w.PID, all) {
			return "and whoever started it is gone"
		}
	}
	return ""
}

// startedReader reports whether the process with this PID reads the channel or is the parent of a
// reader, as the shell of a pipeline is.
func startedReader(c *Channel, pid int, all map[int]Proc) bool {
	return slices.ContainsFunc(c.Readers, func(r Holder) bool {
		return r.PID == pid || all[r.PID].Parent == pid
	})
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
