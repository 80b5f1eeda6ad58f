package inspect

import (
	"fmt"
	"slices"
	"strings"
)

func (f *finder) checkChannel(c *Channel) {
	switch {
	case c.NoReader && len(c.Writers) > 0:
		w := c.Writers[0]
		const says = "nobody can read the %s of %s any more (%s): its next write fails with EPIPE"
		sentence := fmt.Sprintf(says, w.stream(), w, c.fill())
		f.add(Diagnosis{Kind: PeerLeft, Sentence: sentence}, c)
	case c.NoWriter && c.Queued <= 0 && len(c.Readers) > 0:
		f.addEnded(c)
	case c.Full && !anyWaits(c.Readers) && len(c.Writers) > 0:
		w := firstWaiting(c.Writers)
		name := w.stream()
		if i := slices.IndexFunc(c.Readers, isStdin); i >= 0 && w.FD > stderr {
			name = "the stdin of " + c.Readers[i].String()
		}
		const says = "%s is full and nobody reads it: %s is writing (%s), and %s"
		sentence := fmt.Sprintf(says, name, w, c.fill(), f.describeIdle(c))
		d := Diagnosis{Kind: Undrained, Sentence: sentence}
		if len(c.Readers) > 0 {
			_, d.passedOn = f.report.waitsToWrite(c.Readers[0].PID)
		}
		f.add(d, c)
	}
	if r, ok := c.readerOfItself(); ok && c.Queued == 0 {
		const says = "%s waits at its %s for an end of file that cannot come:" +
			" it holds the writing end itself (%s)"
		f.add(Diagnosis{Kind: SelfHeld, Sentence: fmt.Sprintf(says, r, r.stream(), c.ID)}, c)
	}
	if readers := c.certainReaders(); len(readers) > 1 {
		const says = "two processes read one pipe:" +
			" each byte goes either to %s or to %s, as it happens (%s)"
		sentence := fmt.Sprintf(says, readers[0], readers[1], c.ID)
		f.add(Diagnosis{Kind: TwoReaders, Sentence: sentence}, c)
	}
}

// checkServer finds a client whose server has ended: the process has lost the reader of one channel
// and the writer of another, and neither is a standard stream of it.
func (f *finder) checkServer(out, in *Channel) {
	if !out.NoReader || !in.NoWriter || len(out.Writers) == 0 || len(in.Readers) == 0 {
		return
	}
	w := out.Writers[0]
	r := in.Readers[0]
	if w.PID == r.PID && min(w.FD, r.FD) > stderr {
		const says = "the server of %s has probably ended: nobody can read its %s (%s) any more, " +
			"or write to its %s (%s)"
		sentence := fmt.Sprintf(says, w, w.stream(), out.fill(), r.stream(), in.fill())
		f.add(Diagnosis{Kind: PeerLeft, Sentence: sentence}, out, in)
	}
}

// addEnded records a channel that has no writer any more and, as far as is known, no bytes.
func (f *finder) addEnded(c *Channel) {
	r := c.Readers[0]
	d := Diagnosis{Kind: PeerLeft}
	if isStdin(r) {
		const says = "the input of %s has ended (%s), but the process stays"
		d.Sentence = fmt.Sprintf(says, r, c.fill()) + f.report.doesInstead(r.PID)
		d.PID = r.PID
	} else {
		const says = "nobody can write to the %s of %s any more (%s): it gets the end of file"
		d.Sentence = fmt.Sprintf(says, r.stream(), r, c.fill())
	}
	f.add(d, c)
}

// readerOfItself returns a process that reads the channel and is its only writer. A process that
// only polls the channel does not count: programs have such pipes to wake up their own threads.
func (c *Channel) readerOfItself() (Holder, bool) {
	for _, r := range c.Readers {
		other := func(w Holder) bool { return w.PID != r.PID }
		if r.inCall && len(c.Writers) > 0 && !slices.ContainsFunc(c.Writers, other) {
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
		sentence := fmt.Sprintf(says, r, r.stream(), c.Queued, c.ID) + f.report.doesInstead(r.PID)
		f.add(Diagnosis{Kind: Unread, Sentence: sentence, PID: r.PID, queued: c.Queued}, c)
	}
}

// checkUnreadOutput finds unread bytes in the standard output of a process. Such bytes are often
// harmless, so this check is for hangs that nothing else explains.
func (f *finder) checkUnreadOutput(c *Channel) {
	i := slices.IndexFunc(c.Writers, func(h Holder) bool { return h.FD == stdout })
	if i >= 0 && c.isLeftUnread() && !f.has(PeerLeft, c.Writers[i].PID) {
		const says = "the stdout of %s holds unread bytes (%s), and %s"
		sentence := fmt.Sprintf(says, c.Writers[i], c.fill(), f.describeIdle(c))
		f.add(Diagnosis{Kind: Unread, Sentence: sentence, queued: c.Queued}, c)
	}
}

// isLeftUnread reports whether a channel has bytes and room for more, and no reader waits.
func (c *Channel) isLeftUnread() bool {
	return c.Queued > 0 && !c.Full && len(c.Readers) > 0 && !anyWaits(c.Readers)
}

func isStdin(h Holder) bool { return h.FD == stdin }

// firstWaiting returns the first holder that waits, or the first of all if none does.
func firstWaiting(list []Holder) Holder {
	i := slices.IndexFunc(list, func(h Holder) bool { return h.Waits })
	return list[max(i, 0)]
}

// describeIdle names the processes that hold the reading end without reading, except those that
// write. If there is only one such process, the text also says what that process does instead.
func (f *finder) describeIdle(c *Channel) string {
	var names []string
	pid := 0
	for _, r := range c.Readers {
		if pidWaits(c.Writers, r.PID) {
			continue
		}
		pid = r.PID
		name := r.String()
		if r.stopped {
			name += ", which is stopped,"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return "no other process is seen to have the reading end"
	case 1:
		return names[0] + " does not read it" + f.report.doesInstead(pid)
	}
	return strings.Join(names, " and ") + " do not read it"
}

// doesInstead says what a process does instead of reading. It returns "" if that is not known.
func (r *Report) doesInstead(pid int) string {
	p := r.Proc(pid)
	if r.Computes(p) {
		return ": it computes"
	}
	if reader, waits := r.waitsToWrite(pid); waits {
		return fmt.Sprintf(": it waits to write to %s", reader)
	}
	if rest := r.rests(p); rest != "" {
		return ": it " + rest
	}
	return r.waitsElsewhere(pid)
}

// waitsToWrite returns the process to which the process pid waits to write.
func (r *Report) waitsToWrite(pid int) (reader Holder, waits bool) {
	for _, c := range r.Channels {
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
	for _, c := range r.Channels {
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
