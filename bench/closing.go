package bench

import (
	"errors"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

const (
	fullCheckPause = 500 * time.Microsecond // before each check whether the pipe is full
	maxFullChecks  = 2000
)

// closeEarly ends a sample in which the reader closes its end of the pipe while the writer still
// writes. Both the writer and the reader call closeEarly after the timed messages.
func (e *endpoint) closeEarly() error {
	if e.Role.isOrigin() {
		return e.writeUntilTold()
	}
	// The pipe counts as full if two checks in a row find the same number of bytes in it.
	last := 0 // bytes in the pipe at the last check
	for range maxFullChecks {
		time.Sleep(fullCheckPause)
		n, err := e.in.Buffered()
		if err != nil || n > 0 && n == last { // if Buffered fails, assume that it is full
			break
		}
		last = n
	}
	e.report.ClosedAt = e.clock.now()
	return e.in.Close()
}

// writeUntilTold goes on sending messages until the kernel says that the reader has closed its end.
func (e *endpoint) writeUntilTold() error {
	signals := syspipe.CountSIGPIPE()
	taken := e.out.Counters().Bytes // bytes that the reader takes: all that were sent so far
	var err error
	for i := e.Warmup + e.Messages; err == nil; i++ {
		err = e.exchange(i, 1) // one message
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
