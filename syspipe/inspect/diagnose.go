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
		p.InFutex = min(p.InFutex, before.Proc(p.PID).InFutex)
		p.Recent = p.Total.since(before.Proc(p.PID).Total)
		if p.Recent != nil {
			how, sure := p.spins(r.Look)
			inDoubt = inDoubt || how != "" && !sure
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
	recent := r.Proc(pid).Recent
	return recent != nil && recent.ReadBytes+recent.WriteBytes >= fewBytes
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
	f.checkMutualWrite()
	f.checkLeaks()
	f.each(f.checkChannel)
	for _, p := range r.Processes {
		f.checkProcess(p)
	}
	const certain, possible = true, false
	f.checkMutualRead(certain)
	if !f.explains() {
		f.each(f.checkUnread)
	}
	if !f.explains() {
		f.checkMutualRead(possible)
	}
	if !f.explains() {
		f.each(f.checkChildAtStdin)
	}
	if !f.explains() {
		f.each(f.checkUnreadOutput)
	}
	f.each(f.checkHolders)
	if !f.explains() {
		f.each(f.checkPauses)
	}
	slices.SortStableFunc(f.found, func(a, b Diagnosis) int { return a.order() - b.order() })
	return f.found
}

type finder struct {
	report    *Report
	found     []Diagnosis
	explained []string // IDs of the channels that have a diagnosis
	pairs     []pair   // processes that wait for each other's bytes, and both channels are empty
	stuck     []pair   // processes that write to each other and do not read, in either order
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
				f.stuck = append(f.stuck, pair{client: a, server: b, there: there, back: back})
			}
			if p, ok := f.report.waitingPair(there, back, a, b); ok {
				f.pairs = append(f.pairs, p)
			}
		}
	}
}

// checkMutualWrite reports the pairs in f.stuck. A client and a server on both sides of pipebench
// tap are two pairs, but one diagnosis, since tap only passes on what they write. It comes first:
// f.add then ignores the diagnosis of each pair alone.
func (f *finder) checkMutualWrite() {
	const neither = "both sides are writing and neither reads: "
	for i, p := range f.stuck {
		pOther, tap := p.besideTap()
		for _, q := range f.stuck[i+1:] {
			qOther, qTap := q.besideTap()
			if tap.PID == 0 || tap.PID != qTap.PID {
				continue
			}
			text := fmt.Sprintf(neither+"%s and %s, through %s, which only passes on what they "+
				"write", pOther, qOther, tap)
			f.add(Diagnosis{Kind: MutualWrite, Sentence: text}, p.there, p.back, q.there, q.back)
		}
		text := fmt.Sprintf(neither+"%s is writing to %s (%s), and %s to %s (%s)", p.client,
			p.server, p.there.fill(), p.server, p.client, p.back.fill())
		if tap.PID != 0 {
			text += "; pipebench tap only passes on what its client and server write"
		}
		f.add(Diagnosis{Kind: MutualWrite, Sentence: text}, p.there, p.back)
	}
}

// besideTap returns pipebench tap, if it is one of the pair, and the other process of the pair. If
// neither is tap, tap is zero.
func (p pair) besideTap() (other, tap Holder) {
	const name = "pipebench tap"
	switch {
	case p.client.Command == name:
		return p.server, p.client
	case p.server.Command == name:
		return p.client, p.server
	}
	return p.client, Holder{}
}

func anyWaits(list []Holder) bool {
	return slices.ContainsFunc(list, func(h Holder) bool { return h.Waits })
}

func pidWaits(list []Holder, pid int) bool {
	return slices.ContainsFunc(list, func(h Holder) bool { return h.Waits && h.PID == pid })
}
