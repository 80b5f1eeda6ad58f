package bench

import (
	"errors"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// Before a reader closes its end it takes nothing for a while, like a program that hangs before it
// dies. It waits until its writer has filled the pipe: it looks how many bytes are in the pipe
// until two looks in a row find the same number, or closePauses looks are used up.
const (
	closePause  = 500 * time.Microsecond // before each look
	closePauses = 2000                   // the most looks
)

// closeEarly ends a slice in which the reader leaves early. When the reader has taken its messages,
// it waits until the pipe is full and closes its end; the writer writes until the kernel reports
// that.
func (e *endpoint) closeEarly() error {
	if e.Role.isOrigin() {
		return e.writeUntilTold()
	}
	last := 0 // bytes in the pipe
	for range closePauses {
		time.Sleep(closePause)
		n, err := e.in.Buffered()
		if err != nil || n > 0 && n == last {
			break // a pipe that cannot be asked counts as full
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
