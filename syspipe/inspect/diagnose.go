package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Diagnosis says what is wrong with a process, or with some channels: pipes, FIFOs or sockets.
type Diagnosis struct {
	Kind     Problem  `json:"kind"`
	Sentence string   `json:"sentence"`
	Channels []string `json:"channels"` // the IDs of the channels that it is about
	// PID is the process that the diagnosis is about, or 0 if the diagnosis is not about a single
	// process. For [MutualRead] and [ChildAtStdin], PID is the server. For [Unread] and [PeerLeft],
	// it is the process whose standard input is unread or has ended. For [Pauses], it is the
	// process that pauses.
	PID int `json:"pid,omitempty"`

	queued   int  // unread bytes, if Kind is Unread
	passedOn bool // the process that should read waits to write, so another pipe is the cause
}

// A Problem is a kind of diagnosis.
type Problem string

const (
	MutualWrite  Problem = "mutual-write"
	MutualRead   Problem = "mutual-read"
	ChildAtStdin Problem = "child-at-stdin"
	Pauses       Problem = "pauses"
	Undrained    Problem = "undrained"
	Unread       Problem = "unread"
	PeerLeft     Problem = "peer-left"
	SelfHeld     Problem = "self-held"
	HeldOpen     Problem = "held-open"
	TwoReaders   Problem = "two-readers"
	Leak         Problem = "leak"
	IgnoresTerm  Problem = "ignores-sigterm"
	Stopped      Problem = "stopped"
	OpensFIFO    Problem = "opens-fifo"
	Spins        Problem = "spins"
	Buffers      Problem = "buffers"
)

// problems lists the kinds of problem in the order in which a report names them: those that best
// explain a hang come first. The kinds after [Unread] do not explain a hang.
var problems = []Problem{
	MutualWrite, Undrained, Stopped, OpensFIFO, SelfHeld, TwoReaders, MutualRead, ChildAtStdin,
	Pauses, Spins, Buffers, Unread, PeerLeft, Leak, IgnoresTerm, HeldOpen,
}

// rank returns the place of a kind of problem in the list "problems".
func (kind Problem) rank() int { return slices.Index(problems, kind) }

// order returns a number to sort diagnoses by: first by the kind of problem, and within a kind,
// causes before their consequences. A stream whose other side has left explains no hang, unless it
// is the standard input.
func (d Diagnosis) order() int {
	if d.Kind == PeerLeft && d.PID == 0 {
		return 2 * len(problems)
	}
	n := 2 * d.Kind.rank()
	if d.passedOn {
		n++
	}
	return n
}

// compare adds to r what has happened since an earlier report. It drops each diagnosis that the
// earlier report does not confirm, unless the diagnosis takes two reports. inDoubt is true if a
// process may be busy for nothing, but only a longer look can tell.
func (r *Report) compare(before *Report) (inDoubt bool) {
	r.Look = r.taken.Sub(before.taken)
	for i := range r.Processes {
		p := &r.Processes[i]
		for _, old := range before.Processes {
			if old.PID != p.PID {
				continue
			}
			p.Recent = p.Total.since(old.Total)
			if p.Recent != nil {
				how, sure := p.spins(r.Look)
				inDoubt = inDoubt || how != "" && !sure
			}
		}
	}
	r.Diagnoses = slices.DeleteFunc(r.diagnose(), func(d Diagnosis) bool {
		takesTwo := d.Kind == Spins || d.Kind == Buffers
		confirmed := takesTwo || slices.ContainsFunc(before.Diagnoses, d.same)
		waits := d.Kind == MutualRead || d.Kind == ChildAtStdin || d.Kind == Pauses
		answersMeanwhile := waits && r.moves(d.PID)
		return !confirmed || answersMeanwhile
	})
	return inDoubt
}

// moves reports whether the process with this PID read and wrote at least fewBytes bytes in all
// between the two looks at it.
func (r *Report) moves(pid int) bool {
	return slices.ContainsFunc(r.Processes, func(p Proc) bool {
		return p.PID == pid && p.Recent != nil && p.Recent.ReadBytes+p.Recent.WriteBytes >= fewBytes
	})
}

// same reports whether d is about the same problem as a diagnosis of an earlier look.
func (d Diagnosis) same(earlier Diagnosis) bool {
	if d.Kind != earlier.Kind || d.PID != earlier.PID {
		return false
	}
	if d.Kind == Unread && d.queued < earlier.queued { // some of it was read
		return false
	}
	return d.PID != 0 || slices.Equal(d.Channels, earlier.Channels)
}

// diagnose finds what is wrong. The order of the checks matters, because a channel keeps the first
// diagnosis that it gets.
func (r *Report) diagnose() []Diagnosis {
	f := finder{report: r}
	for i := range r.Channels {
		for j := i + 1; j < len(r.Channels); j++ {
			f.checkPair(&r.Channels[i], &r.Channels[j])
		}
	}
	f.checkLeaks(r.Channels)
	for i := range r.Channels {
		f.checkChannel(&r.Channels[i])
	}
	for _, p := range r.Processes {
		f.checkProcess(p, r)
	}
	const certain, possible = true, false
	f.checkMutualRead(certain)
	if !f.explains() {
		for i := range r.Channels {
			f.checkUnread(&r.Channels[i])
		}
	}
	if !f.explains() {
		f.checkMutualRead(possible)
	}
	if !f.explains() {
		for i := range r.Channels {
			f.checkChildAtStdin(&r.Channels[i], r.all)
		}
	}
	if !f.explains() {
		for i := range r.Channels {
			f.checkUnreadOutput(&r.Channels[i])
		}
	}
	for i := range r.Channels {
		f.checkHolders(&r.Channels[i], r.all)
	}
	if !f.explains() {
		for i := range r.Channels {
			f.checkPauses(&r.Channels[i])
		}
	}
	slices.SortStableFunc(f.found, func(a, b Diagnosis) int { return a.order() - b.order() })
	return f.found
}

// A finder collects diagnoses.
type finder struct {
	report    *Report
	found     []Diagnosis
	explained []string // IDs of the channels that have a diagnosis
	pairs     []pair   // processes that wait for each other's bytes
}

// add records a diagnosis and returns it, so that the caller can complete it before the next call.
// If one of the channels has a diagnosis already, add does nothing and returns nil.
func (f *finder) add(kind Problem, sentence string, channels ...*Channel) *Diagnosis {
	found := Diagnosis{Kind: kind, Sentence: sentence}
	for _, c := range channels {
		if slices.Contains(f.explained, c.ID) {
			return nil
		}
		found.Channels = append(found.Channels, c.ID)
	}
	f.explained = append(f.explained, found.Channels...)
	f.found = append(f.found, found)
	return &f.found[len(f.found)-1]
}

// explains reports whether a diagnosis found so far explains why a program hangs.
func (f *finder) explains() bool {
	return slices.ContainsFunc(f.found, func(x Diagnosis) bool {
		return x.Kind.rank() <= Unread.rank()
	})
}

// addProcess records a diagnosis of p. The sentence of the diagnosis is the PID and the name of p,
// followed by the predicate.
func (f *finder) addProcess(kind Problem, p Proc, predicate string) {
	sentence := fmt.Sprintf("%d (%s) %s", p.PID, p.Command, predicate)
	f.found = append(f.found, Diagnosis{Kind: kind, Sentence: sentence, PID: p.PID})
}

func holds(list []Holder, pid int) bool {
	return slices.ContainsFunc(list, func(h Holder) bool { return h.PID == pid })
}

// checkPair looks for two processes that can write to each other through these two channels, and
// are both stuck in writing, or both wait to read.
func (f *finder) checkPair(there, back *Channel) {
	bothFull := there.Full && back.Full && !anyWaits(there.Readers) && !anyWaits(back.Readers)
	for _, a := range there.Writers {
		for _, b := range there.Readers {
			if a.PID == b.PID || !holds(back.Writers, b.PID) || !holds(back.Readers, a.PID) {
				continue
			}
			if bothFull {
				const says = "both sides are writing and neither reads: " +
					"%s is writing to %s (%s), and %s to %s (%s)"
				text := fmt.Sprintf(says, a, b, there.fill(), b, a, back.fill())
				f.add(MutualWrite, text, there, back)
			}
			if p, ok := f.report.waitingPair(there, back, a, b); ok {
				f.pairs = append(f.pairs, p)
			}
		}
	}
}

// anyWaits reports whether one of the holders waits.
func anyWaits(list []Holder) bool {
	return slices.ContainsFunc(list, func(h Holder) bool { return h.Waits })
}

// pidWaits reports whether the process pid is among the holders and waits.
func pidWaits(list []Holder, pid int) bool {
	return slices.ContainsFunc(list, func(h Holder) bool { return h.Waits && h.PID == pid })
}

// checkChannel finds what is wrong with one channel and its holders.
func (f *finder) checkChannel(c *Channel) {
	switch {
	case c.NoReader && len(c.Writers) > 0:
		w := c.Writers[0]
		const says = "nobody can read the %s of %s any more (%s): its next write fails with EPIPE"
		f.add(PeerLeft, fmt.Sprintf(says, w.stream(), w, c.fill()), c)
	case c.NoWriter && c.Queued <= 0 && len(c.Readers) > 0:
		f.addEnded(c)
	case c.Full && !anyWaits(c.Readers) && len(c.Writers) > 0:
		w := firstWaiting(c.Writers)
		name := w.stream()
		if i := slices.IndexFunc(c.Readers, isStdin); i >= 0 && w.FD > stderr {
			name = "the stdin of " + c.Readers[i].String()
		}
		const says = "%s is full and nobody reads it: %s is writing (%s), and %s"
		found := f.add(Undrained,
			fmt.Sprintf(says, name, w, c.fill(), f.describeIdle(c.Readers)), c)
		if found != nil && len(c.Readers) > 0 {
			_, found.passedOn = f.report.waitsToWrite(c.Readers[0].PID)
		}
	}
	if r, ok := c.readerOfItself(); ok && c.Queued == 0 {
		const says = "%s waits at its %s for an end of file that cannot come:" +
			" it holds the writing end itself (%s)"
		f.add(SelfHeld, fmt.Sprintf(says, r, r.stream(), c.ID), c)
	}
	if readers := c.certainReaders(); len(readers) > 1 {
		const says = "two processes read one pipe:" +
			" each byte goes either to %s or to %s, as it happens (%s)"
		f.add(TwoReaders, fmt.Sprintf(says, readers[0], readers[1], c.ID), c)
	}
}

// addEnded records a channel that has no writer any more and, as far as is known, no bytes.
func (f *finder) addEnded(c *Channel) {
	r := c.Readers[0]
	if !isStdin(r) {
		const says = "nobody can write to the %s of %s any more (%s): it gets the end of file"
		f.add(PeerLeft, fmt.Sprintf(says, r.stream(), r, c.fill()), c)
		return
	}
	const says = "the input of %s has ended (%s), but the process stays"
	found := f.add(PeerLeft, fmt.Sprintf(says, r, c.fill())+f.report.doesInstead(r.PID), c)
	if found != nil {
		found.PID = r.PID
	}
}

// readerOfItself returns a process that reads the channel and is its only writer. A process that
// only polls the channel does not count: programs have such pipes to wake up their own threads.
func (c *Channel) readerOfItself() (Holder, bool) {
	for _, r := range c.Readers {
		if r.inCall && heldOnlyBy(c.Writers, r.PID) {
			return r, true
		}
	}
	return Holder{}, false
}

// certainReaders returns the processes that wait to read the channel, except those that only new
// bytes would wake up (EPOLLET). A Go program waits like that even for pipes that it never reads.
func (c *Channel) certainReaders() []Holder {
	var list []Holder
	for _, r := range c.Readers {
		if r.Waits && !r.edge && !holds(list, r.PID) {
			list = append(list, r)
		}
	}
	return list
}

// checkUnread finds bytes that a process leaves unread in its standard input.
func (f *finder) checkUnread(c *Channel) {
	i := slices.IndexFunc(c.Readers, isStdin)
	if i >= 0 && c.isLeftUnread() {
		r := c.Readers[i]
		const says = "%s is not reading its %s: %d bytes wait there (%s)"
		f.addUnread(c, fmt.Sprintf(says, r, r.stream(), c.Queued, c.ID), r.PID)
	}
}

// checkUnreadOutput finds unread bytes in the standard output of a process. Such bytes are often
// harmless, so this check is for hangs that nothing else explains.
func (f *finder) checkUnreadOutput(c *Channel) {
	i := slices.IndexFunc(c.Writers, func(h Holder) bool { return h.FD == stdout })
	if i >= 0 && c.isLeftUnread() {
		const says = "the stdout of %s holds unread bytes (%s), and %s"
		f.addUnread(c, fmt.Sprintf(says, c.Writers[i], c.fill(), f.describeIdle(c.Readers)), 0)
	}
}

// isLeftUnread reports whether a channel has bytes and room for more, and no reader waits.
func (c *Channel) isLeftUnread() bool {
	return c.Queued > 0 && !c.Full && len(c.Readers) > 0 && !anyWaits(c.Readers)
}

func (f *finder) addUnread(c *Channel, sentence string, pid int) {
	if found := f.add(Unread, sentence, c); found != nil {
		found.PID = pid
		found.queued = c.Queued
	}
}

// heldOnlyBy reports whether the process pid is the only process in the list.
func heldOnlyBy(list []Holder, pid int) bool {
	other := slices.ContainsFunc(list, func(h Holder) bool { return h.PID != pid })
	return len(list) > 0 && !other
}

func isStdin(h Holder) bool { return h.FD == stdin }

// firstWaiting returns the first holder that waits, or the first of all if none does.
func firstWaiting(list []Holder) Holder {
	i := slices.IndexFunc(list, func(h Holder) bool { return h.Waits })
	return list[max(i, 0)]
}

// describeIdle names the processes that hold the reading end without reading. If there is only one
// such process, the text also says what that process does instead.
func (f *finder) describeIdle(readers []Holder) string {
	if len(readers) == 0 {
		return "who holds the reading end cannot be seen from here"
	}
	var names []string
	for _, r := range readers {
		name := r.String()
		if r.stopped {
			name += ", which is stopped,"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	text := strings.Join(names, " and ") + " does not read it"
	if len(names) == 1 {
		text += f.report.doesInstead(readers[0].PID)
	}
	return text
}

// doesInstead says what a process does instead of reading. It returns "" if that is not known.
func (r *Report) doesInstead(pid int) string {
	p := r.process(pid)
	if r.Computes(p) {
		return ": it computes"
	}
	if call := p.pausesIn(); call != "" {
		return ": it sleeps in " + call
	}
	if reader, waits := r.waitsToWrite(pid); waits {
		return fmt.Sprintf(": it waits to write to %s", reader)
	}
	return r.waitsElsewhere(pid)
}

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
		call := f.report.process(w.PID).pausesIn()
		ended := func(d Diagnosis) bool { return d.Kind == PeerLeft && d.PID == w.PID }
		if w.FD != stdout || w.PID == reader.PID || call == "" ||
			slices.ContainsFunc(f.found, ended) {
			continue
		}
		waits := "waits"
		if reader.edge { // a Go program watches pipes that it may not be reading
			waits = "may wait"
		}
		const says = "%s neither reads nor writes: it sleeps in %s, and %s %s for its stdout (%s)"
		found := f.add(Pauses, fmt.Sprintf(says, w, call, reader, waits, c.ID), c)
		if found != nil {
			found.PID = w.PID
		}
	}
}

// process returns the process with this PID, or an empty one if the report has none.
func (r *Report) process(pid int) Proc {
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

// waitsToWrite returns the process to which the process pid waits to write.
func (r *Report) waitsToWrite(pid int) (reader Holder, waits bool) {
	for i := range r.Channels {
		c := &r.Channels[i]
		if c.Full && pidWaits(c.Writers, pid) && len(c.Readers) > 0 && c.Readers[0].PID != pid {
			return c.Readers[0], true
		}
	}
	return Holder{}, false
}

// waitsElsewhere names the channel from which a process waits to read, as in ": it waits for the
// stdout of 4711 (server)". It returns "" if there is no such channel, or more than one.
func (r *Report) waitsElsewhere(pid int) string {
	text := ""
	for i := range r.Channels {
		c := &r.Channels[i]
		_, oneHolder := c.Owner()
		if oneHolder || !pidWaits(c.Readers, pid) || len(c.Writers) == 0 {
			continue
		}
		if text != "" { // this is the second one
			return ""
		}
		w := c.Writers[0]
		text = fmt.Sprintf(": it waits for the %s of %s", w.stream(), w)
	}
	return text
}

// leakCount is how many channels that lead nowhere count as a leak. A few such channels are normal:
// programs wake up their own threads with them.
const leakCount = 16

// checkLeaks finds processes with many channels that lead nowhere: the process has both ends, or
// nobody has the other end.
func (f *finder) checkLeaks(channels []Channel) {
	owned := map[int][]*Channel{} // by PID
	closedOf := map[int]int{}     // by PID: how many of its channels have lost the other end
	for i := range channels {
		c := &channels[i]
		pid, oneHolder := c.Owner()
		closed := c.NoReader || c.NoWriter
		toItself := len(c.Writers) > 0 && len(c.Readers) > 0
		if oneHolder && (closed || toItself) {
			owned[pid] = append(owned[pid], c)
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
		if found := f.add(Leak, text, list...); found != nil {
			found.PID = pid
		}
	}
}

// checkHolders finds a process that holds a writing end needlessly, so that a reader waits in vain
// for the end of file.
func (f *finder) checkHolders(c *Channel, all map[int]Proc) {
	if c.Queued > 0 || !anyWaits(c.Readers) {
		return
	}
	for _, w := range c.Writers {
		known := func(x Diagnosis) bool { return x.Kind == HeldOpen && x.PID == w.PID }
		why := whyNeedless(w, c, all)
		if why == "" || slices.ContainsFunc(f.found, known) {
			continue
		}
		const says = "%s holds the writing end as its %s, %s:" +
			" until it closes that too, %s sees no end of file (%s)"
		reader := firstWaiting(c.Readers)
		found := f.add(HeldOpen, fmt.Sprintf(says, w, w.stream(), why, reader, c.ID), c)
		if found != nil {
			found.PID = w.PID
		}
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
func (f *finder) checkProcess(p Proc, r *Report) {
	if p.Stopped {
		const says = "is stopped, as by SIGSTOP or Ctrl-Z, " +
			"and does nothing until it gets SIGCONT (kill -CONT %d)"
		f.addProcess(Stopped, p, fmt.Sprintf(says, p.PID))
	}
	for _, t := range p.Threads {
		if t.In == "open" {
			f.addProcess(OpensFIFO, p, "waits in open"+ofPath(t.Path)+
				" until somebody opens the other end of that FIFO")
			break
		}
	}
	if p.SIGTERM == "ignored" {
		f.addProcess(IgnoresTerm, p,
			"ignores SIGTERM: it ends at the end of its input, if at all, or by SIGKILL")
	}
	if p.Recent == nil || p.Total == nil || r.Look <= 0 {
		return
	}
	if how, sure := p.spins(r.Look); how != "" && sure {
		f.addProcess(Spins, p, how)
	}
	f.checkBuffers(p, r)
}

// checkBuffers finds a process that holds back its output: it mostly rests, and has written only
// whole blocks of 4 or 8 KiB since its start.
func (f *finder) checkBuffers(p Proc, r *Report) {
	block := p.Total.blockSize()
	untilFirstLook := p.Total.since(p.Recent)
	rests := p.Recent.busy.share(r.Look) <= idleShare
	if block == 0 || block != untilFirstLook.blockSize() || !rests {
		return
	}
	output := r.outputOf(p.PID)
	if output == nil || output.Waits {
		return
	}
	const says = "holds its output back: %d writes so far, of %d bytes each;" +
		" what it prints waits until so much is there (flush, python -u, stdbuf -oL)"
	f.addProcess(Buffers, p, fmt.Sprintf(says, p.Total.WriteCalls, block))
}

// ofPath returns " of PATH", or "" if the path is not known.
func ofPath(path string) string {
	if path == "" {
		return ""
	}
	return " of " + path
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
