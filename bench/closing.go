package bench

import (
	"errors"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// A reader takes nothing for a while before it closes its end, as a program that hangs before it
// dies. It waits until its writer has filled the pipe: until nothing came for closePause, or for
// closePauses of them at most.
const (
	closePause  = 500 * time.Microsecond
	closePauses = 2000
)

// closeEarly does an endpoint's half of what follows the messages that a reader takes before it
// closes its end.
func (e *endpoint) closeEarly() error {
	if e.Role.isOrigin() {
		return e.writeUntilTold()
	}
	last := 0 // bytes in the pipe
	for range closePauses {
		time.Sleep(closePause)
		n, err := e.in.Buffered()
		if err != nil || n > 0 && n == last {
			break // if it cannot be told, the pipe is taken for full
		}
		last = n
	}
	e.report.ClosedAt = e.clock.now()
	return e.in.Close()
}

// writeUntilTold goes on with messages until the kernel says that the reader has closed its end.
func (e *endpoint) writeUntilTold() error {
	signals := syspipe.CountSIGPIPE()
	taken := e.out.Counters().Bytes
	var err error
	for i := e.Warmup + e.Messages; err == nil; i++ {
		err = e.exchange(i, 1)
	}
	e.report.ClosedAt = e.clock.now()
	if !errors.Is(err, syscall.EPIPE) {
		return err
	}
	e.report.Closed = &results.Closed{
		LostBytes: int64(e.out.Counters().Bytes - taken),
		Error:     syspipe.ErrorName(err),
		Signals:   signals(),
	}
	return e.out.Close()
}
