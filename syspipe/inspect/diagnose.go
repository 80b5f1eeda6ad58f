package inspect

import (
	"fmt"
	"slices"
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
	Stopped      Problem = "stopped"
	OpensFIFO    Problem = "opens-fifo"
	Spins        Problem = "spins"
)

// problems lists the kinds of problem in the order in which a report names them: those that best
// explain a hang come first. The kinds after [Unread] do not explain a hang.
var problems = []Problem{
	MutualWrite, Undrained, Stopped, OpensFIFO, SelfHeld, TwoReaders, MutualRead, ChildAtStdin,
	Pauses, Spins, Unread, PeerLeft, HeldOpen,
}

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
// earlier report does not confirm, unless the diagnosis takes two reports.
func (r *Report) compare(before *Report) {
	r.Look = r.taken.Sub(before.taken)
	for i := range r.Processes {
		p := &r.Processes[i]
		p.Recent = p.Total.since(before.Proc(p.PID).Total)
	}
	r.Diagnoses = slices.DeleteFunc(r.diagnose(), func(d Diagnosis) bool {
		confirmed := d.Kind == Spins || slices.ContainsFunc(before.Diagnoses, d.same)
		waits := d.Kind == MutualRead || d.Kind == ChildAtStdin || d.Kind == Pauses
		recent := r.Proc(d.PID).Recent
		moves := recent != nil && recent.ReadBytes+recent.WriteBytes >= fewBytes
		return !confirmed || waits && moves
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
			f.checkServer(&r.Channels[i], &r.Channels[j])
			f.checkServer(&r.Channels[j], &r.Channels[i])
		}
	}
	f.each(f.checkChannel)
	for _, p := range r.Processes {
		f.checkProcess(p)
	}
	f.each(f.checkUnread)
	if !f.explains() {
		f.checkMutualRead()
	}
	if !f.explains() {
		f.each(f.checkChildAtStdin)
	}
	if !f.explains() {
		f.each(f.checkUnreadOutput)
	}
	// A program that lets a child inherit its standard streams may mean to.
	f.each(func(c *Channel) { f.checkHolders(c, stderr+1) })
	f.each(func(c *Channel) { f.checkHolders(c, stdin) })
	if !f.explains() {
		f.each(f.checkPauses)
	}
	slices.SortStableFunc(f.found, func(a, b Diagnosis) int { return a.order() - b.order() })
	return f.found
}

// tapCommand is how a report names pipebench tap, which stands between a client and a server.
const tapCommand = "pipebench tap"

type finder struct {
	report    *Report
	found     []Diagnosis
	explained []string // IDs of the channels that have a diagnosis
	pairs     []pair   // processes that wait for each other's bytes, and both channels are empty
}

func (f *finder) each(check func(*Channel)) {
	for i := range f.report.Channels {
		check(&f.report.Channels[i])
	}
}

// add records a diagnosis of these channels, unless one of them has a diagnosis already.
func (f *finder) add(d Diagnosis, channels ...*Channel) {
	for _, c := range channels {
		if slices.Contains(f.explained, c.ID) {
			return
		}
		d.Channels = append(d.Channels, c.ID)
	}
	f.explained = append(f.explained, d.Channels...)
	f.found = append(f.found, d)
}

// explains reports whether a diagnosis found so far explains why a program hangs.
func (f *finder) explains() bool {
	return slices.ContainsFunc(f.found, func(x Diagnosis) bool {
		return x.Kind.rank() <= Unread.rank()
	})
}

func (f *finder) has(kind Problem, pid int) bool {
	return slices.ContainsFunc(f.found, func(d Diagnosis) bool {
		return d.Kind == kind && d.PID == pid
	})
}

// addProcess records a diagnosis of p. The sentence of the diagnosis is the PID and the name of p,
// followed by the predicate.
func (f *finder) addProcess(kind Problem, p Proc, predicate string) {
	sentence := fmt.Sprintf("%d (%s) %s", p.PID, p.Command, predicate)
	f.add(Diagnosis{Kind: kind, Sentence: sentence, PID: p.PID})
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
				f.addMutualWrite(a, b, there, back)
			}
			if p, ok := f.report.waitingPair(there, back, a, b); ok {
				f.pairs = append(f.pairs, p)
			}
		}
	}
}

// addMutualWrite records that a and b write to each other, and neither reads.
func (f *finder) addMutualWrite(a, b Holder, there, back *Channel) {
	const says = "both sides are writing and neither reads: %s is writing to %s (%s), and %[2]s " +
		"to %[1]s (%[4]s)"
	text := fmt.Sprintf(says, a, b, there.fill(), back.fill())
	if a.Command == tapCommand || b.Command == tapCommand {
		text += "; pipebench tap only passes on what its client and server write"
	}
	f.add(Diagnosis{Kind: MutualWrite, Sentence: text}, there, back)
}

func anyWaits(list []Holder) bool {
	return slices.ContainsFunc(list, func(h Holder) bool { return h.Waits })
}

func pidWaits(list []Holder, pid int) bool {
	return slices.ContainsFunc(list, func(h Holder) bool { return h.Waits && h.PID == pid })
}
