package rules

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// breakPipes finds out what a write returns after, or while, the reader closes its end.
func breakPipes(t *trial) {
	w, r := t.open()
	if t.Err() != nil {
		return
	}
	r.Close()
	signals := syspipe.CountSIGPIPE()
	_, err := w.Write([]byte{1})
	how := "write one byte after the reader has closed"
	t.found("broken/no-reader", syspipe.ErrorName(err), "", how)
	t.foundSignal("broken/no-reader/sigpipe", signals)
	for _, taken := range []int{0, 100, 2 * t.slot()} {
		t.breakWrite(taken)
	}
}

// A brokenWrite is the result of a write during which the reader closed its end.
type brokenWrite struct {
	accepted int
	err      error
	notice   time.Duration // from the reader's close to the end of the write
}

// breakWrite finds out what a write returns if the reader takes n bytes and closes its end. It asks
// again if the rules predict more bytes: on a busy machine the writer may not wake in time.
func (t *trial) breakWrite(n int) {
	step := fmt.Sprintf("broken/after-%d/", n)
	signals := syspipe.CountSIGPIPE()
	var got brokenWrite
	want, isPredicted := t.system().predict(step + "accepted")
	for range 5 {
		got = t.tryBreak(n)
		if !isPredicted || got.accepted == want {
			break
		}
	}
	if t.Err() != nil {
		return
	}
	how := fmt.Sprintf("a blocked write of capacity + 100000 bytes; the reader takes %d and closes",
		n)
	t.found(step+"accepted", got.accepted, "B", how+"; bytes the kernel took")
	t.found(step+"error", syspipe.ErrorName(got.err), "", how)
	if got.err != nil { // without an error, all bytes were accepted before the reader closed
		how = "from the reader's close to the writer's error"
		t.found(step+"notice", int64(got.notice), "ns", how)
	}
	t.foundSignal(step+"sigpipe", signals)
}

// tryBreak makes a write that is larger than the pipe. While this write waits, the reader reads n
// bytes and closes its end.
func (t *trial) tryBreak(n int) brokenWrite {
	w, r := t.open()
	capacity := t.capacityOf(w)
	if t.Err() != nil {
		return brokenWrite{}
	}
	written := make(chan brokenWrite, 1)
	go func() {
		runtime.LockOSThread() // package syspipe asks for this if an end blocks
		accepted, err := w.Write(make([]byte, capacity+100*1000))
		written <- brokenWrite{accepted: accepted, err: err, notice: syspipe.Now()}
	}()
	awaitSteady(r)
	if n > 0 {
		_, err := io.ReadFull(r, make([]byte, n))
		t.Check(err)
		awaitSteady(r)
	}
	closed := syspipe.Now()
	r.Close()
	got := <-written
	got.notice -= closed
	return got
}

// awaitSteady waits, for at most a second, until the number of bytes in the pipe stops changing:
// then the writer is blocked.
func awaitSteady(r *syspipe.End) {
	const steady = 25 * time.Millisecond
	last := -1
	began := time.Now()
	changed := began
	for time.Since(began) < time.Second {
		n, err := r.Buffered()
		if err != nil || n != last {
			last = n
			changed = time.Now()
		}
		if n > 0 && time.Since(changed) > steady {
			return
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// foundSignal reports whether SIGPIPE came. The parameter signals is what [syspipe.CountSIGPIPE]
// returned.
func (t *trial) foundSignal(step string, signals func() *int) {
	n := signals()
	t.found(step, n != nil && *n > 0, "", "whether SIGPIPE was sent to the writer")
}

// hold is the job of a helper process. It keeps the passed pipe ends open until the process is
// killed.
func hold(w *proc.Work) error {
	if err := w.Report(true); err != nil {
		return err
	}
	select {}
}

// findEOF finds out when a reader sees the end of file, if a helper process has a copy of the
// writing end.
func findEOF(t *trial) {
	w, r := t.openNonBlocking()
	holder := t.Start(workHold, nil, w)
	if t.Err() != nil {
		return
	}
	var holds bool
	t.Check(holder.Report(&holds)) // waits until the holder runs
	w.Close()
	_, first := r.TryRead(make([]byte, 1))
	how := "close the writing end while another process holds a copy of it, and read"
	t.found("eof/another-writer", syspipe.ErrorName(first), "", how)
	holder.Close()
	_, last := r.TryRead(make([]byte, 1))
	how = "and read when that is closed too"
	t.found("eof/last-writer", syspipe.ErrorName(last), "", how)
}
