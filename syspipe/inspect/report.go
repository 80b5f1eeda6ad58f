package inspect

import (
	"fmt"
	"slices"
	"strings"
)

// A Report is what was seen of a process, its descendants, and the pipes and sockets they hold.
type Report struct {
	PID       int         `json:"pid"`
	Processes []Proc      `json:"processes"` // the process first, then its descendants
	Channels  []Channel   `json:"channels"`  // pipes, FIFOs and connected Unix sockets, by ID
	Diagnoses []Diagnosis `json:"diagnoses"` // what is wrong; empty if nothing is
}

// A Proc is a process of the tree.
type Proc struct {
	PID     int      `json:"pid"`
	Parent  int      `json:"parent"`
	Command string   `json:"command"`
	Threads []Thread `json:"threads"`
	// Unreadable says why its descriptors could not be read; then nothing is known of them.
	Unreadable string `json:"unreadable,omitempty"`
}

// A Thread is one that sleeps in the kernel on account of a descriptor.
type Thread struct {
	TID int    `json:"tid"`
	In  string `json:"in"` // "read", "write" or "poll"
	FD  int    `json:"fd"` // -1 where it is not known; always for poll
	At  string `json:"at"` // the kernel function it sleeps in, "" where that is not readable
}

// A Channel is a pipe, a FIFO, or one direction of a pair of sockets.
type Channel struct {
	ID       string   `json:"id"`   // "pipe:[4711]", "socket:[1]>[2]"
	Kind     string   `json:"kind"` // "anonymous", "fifo", "socket"
	Path     string   `json:"path,omitempty"`
	Capacity int      `json:"capacity"` // bytes; 0 where it is not known, as for sockets
	Queued   int      `json:"queued"`   // bytes written and not yet read; -1 where it is not known
	Full     bool     `json:"full"`     // a write would wait
	Writers  []Holder `json:"writers"`  // of every process that may be looked at, in the tree or not
	Readers  []Holder `json:"readers"`
	NoReader bool     `json:"no_reader"` // the kernel says so: whatever is written is lost, with EPIPE
	NoWriter bool     `json:"no_writer"` // the kernel says so: end of file once it is empty
}

// A Holder is a process that has an end of a channel open.
type Holder struct {
	PID         int    `json:"pid"`
	Command     string `json:"command"`
	FD          int    `json:"fd"`
	NonBlocking bool   `json:"non_blocking"`
	// Waits tells that a thread of it sleeps in a read or write of this descriptor.
	Waits bool `json:"waits"`
}

func (h Holder) String() string { return fmt.Sprintf("%d (%s)", h.PID, h.Command) }

// stream names a descriptor as its user would.
func (h Holder) stream() string {
	switch h.FD {
	case 0:
		return "stdin"
	case 1:
		return "stdout"
	case 2:
		return "stderr"
	}
	return fmt.Sprintf("descriptor %d", h.FD)
}

// fill tells how full a channel is.
func (c *Channel) fill() string {
	switch {
	case c.Queued < 0:
		return c.ID
	case c.Capacity > 0:
		return fmt.Sprintf("%s, %d of %d bytes", c.ID, c.Queued, c.Capacity)
	}
	return fmt.Sprintf("%s, %d bytes", c.ID, c.Queued)
}

// A Diagnosis is something that is wrong with one or two channels.
type Diagnosis struct {
	Kind     Problem  `json:"kind"`
	Sentence string   `json:"sentence"`
	Channels []string `json:"channels"` // their IDs
}

// A Problem is a kind of diagnosis.
type Problem string

const (
	MutualWrite Problem = "mutual-write" // both sides write to each other, and neither reads
	MutualRead  Problem = "mutual-read"  // both sides wait for each other's bytes
	Undrained   Problem = "undrained"    // a channel is full and nobody reads it
	PeerLeft    Problem = "peer-left"    // one side is closed for good
	SelfHeld    Problem = "self-held"    // a reader that holds the writing end waits for its end
)

// diagnose finds what is wrong with the channels that a process of the tree holds: first with each
// pair of them that runs between the same two processes in opposite directions, then with each
// alone.
func diagnose(channels []Channel) []Diagnosis {
	var d diagnosis
	for i := range channels {
		for j := i + 1; j < len(channels); j++ {
			there, back := &channels[i], &channels[j]
			for _, a := range there.Writers {
				for _, b := range there.Readers {
					if a.PID != b.PID && holds(back.Writers, b.PID) && holds(back.Readers, a.PID) {
						d.checkPair(there, back, a, b)
					}
				}
			}
		}
	}
	for i := range channels {
		d.checkChannel(&channels[i])
	}
	return d.found
}

type diagnosis struct {
	found     []Diagnosis
	explained []string // channels that a diagnosis has explained
}

func (d *diagnosis) add(kind Problem, sentence string, channels ...*Channel) {
	found := Diagnosis{Kind: kind, Sentence: sentence}
	for _, c := range channels {
		found.Channels = append(found.Channels, c.ID)
	}
	d.explained = append(d.explained, found.Channels...)
	d.found = append(d.found, found)
}

func holds(list []Holder, pid int) bool {
	return slices.ContainsFunc(list, func(h Holder) bool { return h.PID == pid })
}

func (d *diagnosis) checkPair(there, back *Channel, a, b Holder) {
	if slices.Contains(d.explained, there.ID) || slices.Contains(d.explained, back.ID) {
		return
	}
	switch {
	case there.Full && back.Full && !waiting(there.Readers) && !waiting(back.Readers):
		d.add(MutualWrite, fmt.Sprintf("both sides are writing and neither reads: %s is writing to %s (%s), and %s to %s (%s)",
			a, b, there.fill(), b, a, back.fill()), there, back)
	case there.Queued == 0 && back.Queued == 0 && waiting(there.Readers, b.PID) && waiting(back.Readers, a.PID):
		d.add(MutualRead, fmt.Sprintf("both sides are reading and neither writes: %s waits for %s (%s), and %s for %s (%s)",
			b, a, there.ID, a, b, back.ID), there, back)
	}
}

// waiting reports whether one of the holders waits, or, with a pid, whether that process does.
func waiting(list []Holder, pid ...int) bool {
	return slices.ContainsFunc(list, func(h Holder) bool {
		return h.Waits && (pid == nil || slices.Contains(pid, h.PID))
	})
}

func (d *diagnosis) checkChannel(c *Channel) {
	if slices.Contains(d.explained, c.ID) {
		return
	}
	switch {
	case c.NoReader && len(c.Writers) > 0:
		w := c.Writers[0]
		d.add(PeerLeft, fmt.Sprintf("the peer has left: nobody holds the reading end of the %s of %s any more (%s); the next write fails with EPIPE",
			w.stream(), w, c.fill()), c)
	case c.NoWriter && len(c.Readers) > 0:
		r := c.Readers[0]
		d.add(PeerLeft, fmt.Sprintf("the peer has left: nobody holds the writing end of the %s of %s any more (%s); a read past that is the end of file",
			r.stream(), r, c.fill()), c)
	case c.Full && !waiting(c.Readers) && len(c.Writers) > 0:
		w := blockedFirst(c.Writers)
		d.add(Undrained, fmt.Sprintf("%s is full and nobody drains it: %s is writing (%s), and %s",
			w.stream(), w, c.fill(), idle(c.Readers)), c)
	case c.Queued == 0 && waiting(c.Readers) && len(c.Writers) > 0 && !slices.ContainsFunc(c.Writers, func(w Holder) bool { return w.PID != blockedFirst(c.Readers).PID }):
		r := blockedFirst(c.Readers)
		d.add(SelfHeld, fmt.Sprintf("%s waits at its %s for an end of file that cannot come: it holds the writing end itself (%s)",
			r, r.stream(), c.ID), c)
	}
}

func blockedFirst(list []Holder) Holder {
	for _, h := range list {
		if h.Waits {
			return h
		}
	}
	return list[0]
}

// idle tells who holds the reading end and does not read.
func idle(readers []Holder) string {
	if len(readers) == 0 {
		return "who holds the reading end cannot be seen from here"
	}
	var names []string
	for _, r := range readers {
		if name := r.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and ") + " does not read"
}
