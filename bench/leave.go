package bench

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// A reader that leaves takes nothing for a while before it closes its end, as a program that hangs
// before it dies: until its writer has filled the pipe, of which nothing came for leavePause, or
// for so many of them at most.
const (
	leavePause  = 500 * time.Microsecond
	leavePauses = 2000
)

// countSIGPIPE counts the signals of this worker.
var countSIGPIPE = sync.OnceValue(syspipe.CountSIGPIPE)

// part does an endpoint's half of a departure, after the messages that the reader takes.
func (e *endpoint) part() error {
	if e.isOrigin() {
		return e.writeUntilTold()
	}
	last := 0 // bytes in the pipe
	for range leavePauses {
		time.Sleep(leavePause)
		n, err := e.in.Buffered()
		if err != nil || n > 0 && n == last {
			break // one that cannot be told is taken for full
		}
		last = n
	}
	e.report.Departed = e.clock.Now()
	return e.in.Close()
}

// writeUntilTold goes on with messages until the kernel says that the reader has left.
func (e *endpoint) writeUntilTold() (err error) {
	signals, taken := countSIGPIPE(), e.out.Counters().Bytes
	signals() // forgets those of the departure before
	for i := e.Warmup + e.Messages; err == nil; i++ {
		err = e.exchange(i, 1)
	}
	e.report.Departed = e.clock.Now()
	if !errors.Is(err, syscall.EPIPE) {
		return err
	}
	e.report.Left = &results.Left{
		LostBytes: int64(e.out.Counters().Bytes - taken),
		Error:     syspipe.ErrorName(err),
		Signals:   signals(),
	}
	return e.out.Close()
}

// mostSpares is how many pipes a fork opens at most for readers that leave: a user may have a
// thousand of the usual capacity.
const mostSpares = 64

// leaving returns how many of a group's cells have a reader that leaves.
func (g *group) leaving() (n int) {
	for _, c := range g.cells {
		if c.record.Cell.Leave > 0 {
			n++
		}
	}
	return n
}

// validateLeave says what a reader that leaves does not go with.
func validateLeave(c results.Cell) error {
	if c.Leave > 0 && (c.Pattern != "stream" || c.Rate > 0 || c.Batch > 1 || c.Transfer != "") {
		return fmt.Errorf("a reader that leaves (after %d) is of a stream without rate, batch and transfer: its writer goes on until it is told", c.Leave)
	}
	return nil
}
