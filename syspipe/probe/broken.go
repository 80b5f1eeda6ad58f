package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

func probeBroken(t *trial) {
	w, r := t.openBlocking()
	r.Close()
	signals := watchSIGPIPE()
	_, err := w.Write([]byte{1})
	t.found("broken/no-reader", errorName(err), "", "write one byte after the reader has closed")
	t.foundSignal("broken/no-reader/sigpipe", signals)
	for _, taken := range []int{0, 100, 2 * t.slot()} {
		t.readerLeaves(taken)
	}
}

// readerLeaves closes the reader while a blocking write waits, after taking some bytes.
func (t *trial) readerLeaves(taken int) {
	w, r := t.openBlocking()
	capacity := script.Must(w.Capacity())
	signals := watchSIGPIPE()
	type outcome struct {
		n   int
		err error
		at  time.Time
	}
	done := make(chan outcome, 1)
	go func() {
		runtime.LockOSThread()
		n, err := w.Write(make([]byte, capacity+100*1000))
		done <- outcome{n, err, time.Now()}
	}()
	awaitSteady(r)
	if taken > 0 {
		script.Must(io.ReadFull(r, make([]byte, taken)))
		awaitSteady(r)
	}
	start := time.Now()
	r.Close()
	o := <-done

	step := fmt.Sprintf("broken/after-%d", taken)
	how := fmt.Sprintf("a blocked write of capacity + 100000 bytes; the reader takes %d and closes", taken)
	t.found(step+"/accepted", o.n, "B", how+"; bytes the kernel took")
	t.found(step+"/error", errorName(o.err), "", how)
	if o.err != nil { // else the kernel took all of it before the reader closed
		t.found(step+"/notice", o.at.Sub(start).Nanoseconds(), "ns", "from the reader's close to the writer's error")
	}
	t.foundSignal(step+"/sigpipe", signals)
}

// awaitSteady waits until the fill of a pipe has not changed for a while: its writer is blocked
// then.
func awaitSteady(r *syspipe.End) {
	const still = 25 * time.Millisecond
	last, since := -1, time.Now()
	await(time.Second, func() bool {
		n, err := r.Buffered()
		if err != nil || n != last {
			last, since = n, time.Now()
		}
		return n > 0 && time.Since(since) > still
	})
}

func watchSIGPIPE() chan os.Signal {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGPIPE)
	return c
}

// foundSignal tells whether the signal came. It is sent before the write returns, but Go delivers it
// by another goroutine.
func (t *trial) foundSignal(step string, c chan os.Signal) {
	defer signal.Stop(c)
	came := await(300*time.Millisecond, func() bool { return len(c) > 0 })
	t.found(step, came, "", "whether SIGPIPE was sent to the writer")
}

func probeEOF(t *trial) {
	w, r := t.open()
	holder := script.Must(proc.Self(workHold, nil, w)) // whose Start closes w here
	script.Check(holder.Start(context.Background()))
	var held bool
	script.Check(holder.Report(&held))
	_, first := r.TryRead(make([]byte, 1))
	t.found("eof/another-writer", errorName(first), "", "close the writing end while another process holds a copy of it, and read")
	holder.Release()
	script.Check(holder.Wait())
	_, last := r.TryRead(make([]byte, 1))
	t.found("eof/last-writer", errorName(last), "", "and read when that is closed too")
}

// errorName names an outcome as the manual pages do.
func errorName(err error) string {
	switch {
	case err == nil:
		return "success"
	case errors.Is(err, syscall.EAGAIN):
		return "EAGAIN"
	case errors.Is(err, syscall.ECONNRESET): // before EPIPE, which every broken pipe is too
		return "ECONNRESET"
	case errors.Is(err, syscall.EPIPE):
		return "EPIPE"
	case errors.Is(err, io.EOF):
		return "EOF"
	}
	return err.Error()
}
