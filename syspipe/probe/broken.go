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
)

func probeBroken(t *trial) error {
	if err := t.noReader(); err != nil {
		return err
	}
	slot, err := t.slot()
	if err != nil {
		return err
	}
	for _, taken := range []int{0, 100, 2 * slot} {
		if err := t.readerLeaves(taken, slot); err != nil {
			return err
		}
	}
	return nil
}

// noReader writes where nobody reads any more.
func (t *trial) noReader() error {
	w, r, err := syspipe.Open(t.kind, 0)
	if err != nil {
		return err
	}
	r.Close()
	signals := watchSIGPIPE()
	_, err = w.Write([]byte{1})
	f := t.finding("broken/no-reader", errorName(err), "", "write one byte after the reader has closed")
	if err := t.emit(f.compare("EPIPE", "POSIX write")); err != nil {
		return err
	}
	return t.emitSignal("broken/no-reader/sigpipe", signals)
}

// readerLeaves closes the reader while a blocking write waits, after taking some bytes.
func (t *trial) readerLeaves(taken, slot int) error {
	w, r, err := syspipe.Open(t.kind, 0)
	if err != nil {
		return err
	}
	capacity, err := w.Capacity()
	if err != nil {
		return err
	}
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
		if _, err := io.ReadFull(r, make([]byte, taken)); err != nil {
			return err
		}
		awaitSteady(r)
	}
	start := time.Now()
	r.Close()
	o := <-done

	step := fmt.Sprintf("broken/after-%d", taken)
	how := fmt.Sprintf("a blocked write of capacity + 100000 bytes; the reader takes %d and closes", taken)
	f := t.finding(step+"/accepted", o.n, "B", how+"; bytes the kernel took")
	if t.onLinux() {
		err = t.predicted(f, capacity+taken/slot*slot)
	} else {
		err = t.emit(f)
	}
	return errors.Join(err,
		t.emit(t.finding(step+"/error", errorName(o.err), "", how)),
		t.emit(t.finding(step+"/notice", o.at.Sub(start).Nanoseconds(), "ns", "from the reader's close to the writer's error")),
		t.emitSignal(step+"/sigpipe", signals))
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

// emitSignal tells whether the signal came. It is sent before the write returns, but Go delivers it
// by another goroutine.
func (t *trial) emitSignal(step string, c chan os.Signal) error {
	defer signal.Stop(c)
	came := await(300*time.Millisecond, func() bool { return len(c) > 0 })
	f := t.finding(step, came, "", "whether SIGPIPE was sent to the writer")
	if runtime.GOOS == "windows" {
		return t.emit(f.compare(false, "Windows has no such signal"))
	}
	if t.onLinux() {
		return t.predicted(f, true)
	}
	return t.emit(f)
}

func probeEOF(t *trial) error {
	w, r, err := t.open()
	if err != nil {
		return err
	}
	holder, err := proc.Self(workHold, nil, w) // which closes w here
	if err != nil {
		return err
	}
	if err := holder.Start(context.Background()); err != nil {
		return err
	}
	var held bool
	if err := holder.Report(&held); err != nil {
		return err
	}
	_, first := r.TryRead(make([]byte, 1))
	f := t.finding("eof/another-writer", errorName(first), "", "close the writing end while another process holds a copy of it, and read")
	if err := t.emit(f.compare("EAGAIN", "POSIX close")); err != nil {
		return err
	}
	holder.Release()
	if err := holder.Wait(); err != nil {
		return err
	}
	_, last := r.TryRead(make([]byte, 1))
	return t.emit(t.finding("eof/last-writer", errorName(last), "", "and read when that is closed too").compare("EOF", "POSIX read"))
}
