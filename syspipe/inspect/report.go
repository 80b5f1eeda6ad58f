package inspect

import "fmt"

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
