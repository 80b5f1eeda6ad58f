//go:build unix

package faults

import (
	"os"
	"os/signal"
	"syscall"
)

// A signalCount counts the SIGPIPEs that a process gets.
type signalCount struct{ pipes, marks chan os.Signal }

func newSignalCount() *signalCount {
	c := &signalCount{make(chan os.Signal, 16), make(chan os.Signal, 1)}
	signal.Notify(c.pipes, syscall.SIGPIPE)
	signal.Notify(c.marks, syscall.SIGWINCH)
	return c
}

// settle waits until every signal sent so far was delivered: Go hands pending
// signals on in the order of their numbers, and the mark has a higher one.
func (c *signalCount) settle() {
	if syscall.Kill(os.Getpid(), syscall.SIGWINCH) == nil {
		<-c.marks
	}
}

// reset forgets what came so far.
func (c *signalCount) reset() { c.count() }

// count is how many came since the last reset or count. Signals that came at
// the same time count as one, as the system has it.
func (c *signalCount) count() *int {
	c.settle()
	n := len(c.pipes)
	for range n {
		<-c.pipes
	}
	return &n
}
