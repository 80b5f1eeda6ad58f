// Package inspect looks at the pipes and sockets of a process that is running, or hanging, and says
// what is wrong with them.
//
//	report, err := inspect.Over(ctx, pid, time.Second)
//	if err != nil {
//		return err
//	}
//	for _, d := range report.Diagnoses {
//		fmt.Println(d.Sentence)
//	}
//
// It needs no privilege for one's own processes, does not stop them, and touches none of their
// data. To ask how full a pipe is, it opens the pipe for some microseconds, so a process may see
// the end of file that much later. Only Linux is supported. Elsewhere the error wraps
// [errors.ErrUnsupported].
package inspect

import (
	"fmt"
	"slices"
	"time"
)

// A Report is what was seen of a process, of its descendants, and of their pipes and sockets.
type Report struct {
	PID int `json:"pid"`
	// Processes has the process PID and its descendants, each behind its parent. If PID descends
	// from pipebench tap, it begins with that, so that the client is seen, too.
	Processes []Proc    `json:"processes"`
	Channels  []Channel `json:"channels"` // pipes, FIFOs and connected Unix sockets; sorted by ID
	// Inherited are channels that the processes seem to have only because a parent had them: they
	// are empty, none of the processes waits for them, and a process outside has them, too.
	Inherited []Channel   `json:"inherited,omitempty"`
	Diagnoses []Diagnosis `json:"diagnoses"` // what is wrong; empty if nothing was found
	// Look is the time between the two looks of [Over]. In a report of [Process] it is 0.
	Look time.Duration `json:"look_ns"`

	taken time.Time    // when the report was made
	all   map[int]Proc // all processes that can be seen, by their PIDs
}

// A Proc is the process that was asked about, or a descendant of it.
type Proc struct {
	PID     int      `json:"pid"`
	Parent  int      `json:"parent"`
	Command string   `json:"command"` // an interpreter is named with its script: "node server.js"
	Args    []string `json:"-"`       // the program and its arguments, which may hold secrets
	Threads []Thread `json:"threads"`
	// Stopped says that the process does nothing until it gets SIGCONT.
	Stopped bool `json:"stopped,omitempty"`
	// Total has the counts since the start of the process, and Recent those between the two looks
	// of [Over]. A field is nil if its counts are not known.
	Total  *Usage `json:"total,omitempty"`
	Recent *Usage `json:"recent,omitempty"`
	// Unreadable says why the descriptors could not be read; "" if they could.
	Unreadable string `json:"unreadable,omitempty"`

	ofKernel bool // it is a thread of the kernel
	running  bool // one of its threads has a CPU, or waits for a CPU or a disk
}

// A Usage counts the reads and writes of a process, on files and pipes of every kind.
type Usage struct {
	ReadCalls  int64         `json:"read_calls"`
	WriteCalls int64         `json:"write_calls"`
	ReadBytes  int64         `json:"read_bytes"`
	WriteBytes int64         `json:"write_bytes"`
	Runnable   time.Duration `json:"runnable_ns"` // time the busiest thread ran or awaited a CPU

	threads map[int]time.Duration // how long each thread ran or awaited a CPU, by TID
}

// A Thread is a thread that waits for a descriptor, for a child, or for the other end of a FIFO. If
// it is the main thread, or the process has no such thread, it may only pause, as in "nanosleep".
type Thread struct {
	TID int    `json:"tid"`
	In  string `json:"in"` // such as "read", "poll", "accept", "wait" for a child, or a pause
	FD  int    `json:"fd"` // the one for which it waits; -1 if not known, or if it polls several
	At  string `json:"at"` // the kernel function in which it sleeps; "" if that may not be read
	// Child is the PID of the child for which the thread waits. It is 0 if there are several.
	Child int `json:"child,omitempty"`
	// Path is the path of the FIFO that the thread opens, or "" if it is not known.
	Path string `json:"path,omitempty"`
	End  string `json:"end,omitempty"` // what FD is: "a TCP connection to 127.0.0.1:80", "a pipe"
	// Watched names the first of the TCP sockets for which the thread polls, and "its stdin".
	Watched []string `json:"watched,omitempty"`

	watches []watch // the descriptors for which it waits, if In is "poll"
}

// pauses reports whether the thread waits for time to pass, for another thread, or for a lock.
func (t Thread) pauses() bool {
	return slices.Contains([]string{"nanosleep", "futex", "flock", "fcntl"}, t.In)
}

// A watch is one of the descriptors for which a thread waits in poll, select or an epoll call.
type watch struct {
	fd  int
	in  bool // it waits for bytes to read
	out bool // it waits for room to write
	// edge says that only new bytes or new room wake the thread up (EPOLLET), not those that are
	// there already.
	edge bool
}

// A Channel is a pipe, a FIFO, or one direction of a pair of sockets.
type Channel struct {
	ID       string   `json:"id"`   // "pipe:[4711]", "socket:[1]>[2]"
	Kind     string   `json:"kind"` // "anonymous", "fifo", "socket"
	Path     string   `json:"path,omitempty"`
	Capacity int      `json:"capacity"` // bytes; 0 if not known, as for sockets
	Queued   int      `json:"queued"`   // bytes written and not yet read; -1 if not known
	Full     bool     `json:"full"`     // a write would wait
	Writers  []Holder `json:"writers"`  // also of processes outside Processes, if readable
	Readers  []Holder `json:"readers"`
	NoReader bool     `json:"no_reader"` // no process has the reading end: a write fails with EPIPE
	NoWriter bool     `json:"no_writer"` // no process has the writing end: end of file when empty
}

// A Holder is a descriptor of a process that is an end of a channel.
type Holder struct {
	PID         int    `json:"pid"`
	Command     string `json:"command"`
	FD          int    `json:"fd"`
	NonBlocking bool   `json:"non_blocking"`
	// Waits says that a thread sleeps until it can read or write this descriptor: in the read or
	// write itself, or in a call such as poll.
	Waits bool `json:"waits"`

	inCall        bool // a thread sleeps in the read or write itself
	edge          bool // only new bytes or new room end the wait (see watch)
	waitsForChild bool // a thread of it waits for a child to end
	stopped       bool
}

func (h Holder) String() string { return fmt.Sprintf("%d (%s)", h.PID, h.Command) }

// The standard streams.
const stdin, stdout, stderr = 0, 1, 2

// stream names the descriptor as a user would: "stdin", "stdout", "stderr" or "descriptor 7".
func (h Holder) stream() string {
	names := []string{stdin: "stdin", stdout: "stdout", stderr: "stderr"}
	if h.FD < len(names) {
		return names[h.FD]
	}
	return fmt.Sprintf("descriptor %d", h.FD)
}

// Owner returns the process that holds all open ends of the channel, if there is only one such
// process.
func (c *Channel) Owner() (pid int, ok bool) {
	for _, list := range [][]Holder{c.Writers, c.Readers} {
		for _, h := range list {
			if pid != 0 && h.PID != pid {
				return 0, false
			}
			pid = h.PID
		}
	}
	return pid, pid != 0
}

// fill returns the channel's ID and how full it is.
func (c *Channel) fill() string {
	switch {
	case c.Queued < 0:
		return c.ID
	case c.Capacity > 0:
		return fmt.Sprintf("%s, %d of %d bytes", c.ID, c.Queued, c.Capacity)
	}
	return fmt.Sprintf("%s, %d bytes", c.ID, c.Queued)
}

// since returns what the process has done since the earlier counts in old were read. It returns nil
// if u or old is nil.
func (u *Usage) since(old *Usage) *Usage {
	if u == nil || old == nil {
		return nil
	}
	diff := &Usage{
		ReadCalls: u.ReadCalls - old.ReadCalls, WriteCalls: u.WriteCalls - old.WriteCalls,
		ReadBytes: u.ReadBytes - old.ReadBytes, WriteBytes: u.WriteBytes - old.WriteBytes,
	}
	for tid, runnable := range u.threads {
		diff.Runnable = max(diff.Runnable, runnable-old.threads[tid])
	}
	return diff
}
