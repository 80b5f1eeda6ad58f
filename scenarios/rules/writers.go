package rules

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Names of the jobs of helper processes.
const (
	workWrite = "rules/write" // writes messages of one letter until the reader leaves
	workEcho  = "rules/echo"  // copies one block at a time from one pipe to another
	workHold  = "rules/hold"  // keeps pipe ends open
)

type writeArgs struct {
	Letter string
	Size   int // bytes per write
}

func writeLetters(w *proc.Work) error {
	var args writeArgs
	if err := w.Args(&args); err != nil {
		return err
	}
	message := []byte(strings.Repeat(args.Letter, args.Size))
	runtime.LockOSThread()
	for {
		_, err := w.Ends[0].Write(message)
		if syspipe.ReaderLeft(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// interleave reads for interleaveTime, or up to slowInterleaveTime if that shows nothing: no
// message was cut, and fewer than leastMessages messages or leastRuns runs came, as on a busy
// machine. A run is a stretch of bytes from one writer.
const (
	interleaveTime     = 120 * time.Millisecond
	slowInterleaveTime = 3 * time.Second
	leastMessages      = 20
	leastRuns          = 5
)

// interleaveWrites lets two processes write messages of one letter each to one pipe. It tries
// several sizes, because messages may look whole by luck.
func interleaveWrites(t *trial) {
	slot := t.slot()
	w, _ := t.openNonBlocking()
	capacity := t.capacityOf(w)
	if t.Err() != nil {
		return
	}
	for _, size := range interleaveSizes(slot) {
		for _, read := range ascending(max(slot, 4096), capacity) {
			t.interleave(size, read)
		}
	}
}

// interleaveSizes returns sizes of writes that systems treat differently: PIPE_BUF and the size of
// a slot, one byte more than each of these, and 60 KiB, a size that every system splits.
func interleaveSizes(slot int) []int {
	return ascending(512, 513, 4096, 4097, 60<<10, max(slot, 4096), max(slot+1, 4097))
}

// interleave lets two processes write messages of this size to one pipe, reads them into a buffer
// of "read" bytes, and counts where a message was cut.
func (t *trial) interleave(size, read int) {
	w, r := t.open()
	if t.Err() != nil {
		return
	}
	if err := r.SetIO(syspipe.Poll); !errors.Is(err, errors.ErrUnsupported) {
		t.Check(err)
	}
	a := t.Start(workWrite, writeArgs{Letter: "a", Size: size}, w)
	b := t.Start(workWrite, writeArgs{Letter: "b", Size: size}, w)
	w.Close()
	c := runCounter{size: size}
	p := make([]byte, read)
	began := syspipe.Now()
	for t.Err() == nil && !c.enough(syspipe.Now()-began) {
		n, err := r.Read(p)
		t.Check(err)
		c.count(p[:n])
	}
	r.Close()
	if t.Err() != nil {
		return
	}
	t.Check(errors.Join(a.Wait(), b.Wait()))
	t.foundInterleaved(size, read, c)
}

// A runCounter counts runs. A run is a stretch of equal letters that come from one writer.
type runCounter struct {
	size     int // bytes of a message
	messages int // whole messages in the runs that have ended
	runs     int // that have ended
	broken   int // runs that have ended and do not consist of whole messages
	run      int // bytes so far of the current run
	letter   byte
}

func (c *runCounter) count(p []byte) {
	for _, b := range p {
		if b != c.letter && c.run > 0 {
			c.messages += c.run / c.size
			c.runs++
			if c.run%c.size != 0 {
				c.broken++
			}
			c.run = 0
		}
		c.letter = b
		c.run++
	}
}

// wholeMessages returns how many whole messages have been read so far.
func (c *runCounter) wholeMessages() int { return c.messages + c.run/c.size }

// showsNothing reports whether no message was cut, and too few came to prove that none is.
func (c *runCounter) showsNothing() bool {
	return c.broken == 0 && (c.wholeMessages() < leastMessages || c.runs < leastRuns)
}

// enough reports whether to stop reading after this much time.
func (c *runCounter) enough(spent time.Duration) bool {
	return spent >= slowInterleaveTime || spent >= interleaveTime && !c.showsNothing()
}

func (t *trial) foundInterleaved(size, read int, c runCounter) {
	how := fmt.Sprintf("two processes write %d bytes a call, reads of %d: "+
		"%d of %d runs of one writer's bytes were no whole messages", size, read, c.broken, c.runs)
	var cut any = c.broken > 0
	if c.showsNothing() {
		cut = tooFew
	}
	t.found(fmt.Sprintf("interleave/%d/read-%d", size, read), cut, "", how)
}

// tooFew is the value of a finding if no message was cut, but too few were read to prove anything.
const tooFew = "too few"

func echo(w *proc.Work) error {
	var block int
	if err := w.Args(&block); err != nil {
		return err
	}
	p := make([]byte, block)
	for {
		k, err := io.ReadFull(w.Ends[0], p)
		if _, err := w.Ends[1].Write(p[:k]); err != nil {
			return err
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// If no byte is accepted for stallTime, that counts as a deadlock. The child, which only reads and
// writes, needs far less.
const stallTime = 500 * time.Millisecond

// deadlock builds the most common deadlock: a parent writes all that it has before it reads, while
// its child writes answers as it reads.
func deadlock(t *trial) {
	toChild, in := t.open()
	out, fromChild := t.open()
	capacity := t.capacityOf(toChild)
	child := t.Start(workEcho, capacity, in, out)
	if t.Err() != nil {
		return
	}
	in.Close()
	out.Close()
	t.setIO(toChild, syspipe.Spin)
	stuck := t.writeUntilStuck(toChild, capacity, child)
	how := fmt.Sprintf("bytes a parent can write before it hangs, to a child that reads %d, "+
		"then writes them; nothing for %v is a hang", capacity, stallTime)
	step := "deadlock/parent-writes"
	if t.system().os == "linux" {
		t.foundBeside(step, stuck, "B", how, 3*capacity, "both capacities and what the child holds")
	} else {
		t.found(step, stuck, "B", how)
	}

	toChild.Close() // now the parent reads, which ends the deadlock
	got, err := io.Copy(io.Discard, fromChild)
	t.Check(err)
	t.Check(child.Wait())
	how = "whether all of it came back once the parent read"
	t.foundBeside("deadlock/resolved", got == int64(stuck), "", how, true, "" /* no source */)
}

// writeUntilStuck writes until the pipe has accepted no byte for stallTime, and returns how many
// bytes were accepted in all. As long as no more than the capacity was accepted, it goes on,
// because the reader may not have begun to read. It also goes on while the reader waits for a CPU.
func (t *trial) writeUntilStuck(
	w *syspipe.End, capacity int, reader *proc.Process,
) (total int) {
	since := time.Now()
	p := make([]byte, 4096)
	for total < 16*capacity && t.Err() == nil {
		n, full := t.tryWrite(w, p)
		total += n
		switch {
		case !full:
			since = time.Now()
		case total <= capacity || time.Since(since) <= stallTime:
			time.Sleep(time.Millisecond)
		case reader.Runnable():
			since = time.Now()
		default:
			return total
		}
	}
	return total
}
