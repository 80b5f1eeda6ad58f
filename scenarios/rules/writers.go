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

// The names of the jobs that helper processes of an experiment do.
const (
	workWrite = "rules/write" // writes one letter again and again until the reader leaves
	workEcho  = "rules/echo"  // copies from one end to another, a block at a time
	workHold  = "rules/hold"  // keeps an end open
)

type writeArgs struct {
	Letter string
	Size   int // bytes per call
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

// Two writers write for interleaveTime. On a slow machine they write on, up to slowInterleaveTime,
// until leastMessages have come through. "No message was cut" is a result only if leastMessages
// came through, in at least leastRuns runs of one writer's bytes.
const (
	interleaveTime     = 120 * time.Millisecond
	slowInterleaveTime = 3 * time.Second
	leastMessages      = 20
	leastRuns          = 5
)

// interleaveWrites lets two processes write messages of one letter each. If the size of a message
// divides the capacity, and each read takes all that the pipe holds, messages look whole by luck.
// So interleaveWrites tries other sizes too, and small reads.
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

// interleaveSizes returns sizes of writes for which the rules of systems differ: PIPE_BUF of the
// BSDs and of Linux, a slot of the pipe's buffer, one byte more than each of these, and a size that
// every system splits.
func interleaveSizes(slot int) []int {
	return ascending(512, 513, 4096, 4097, 60<<10, max(slot, 4096), max(slot+1, 4097))
}

// interleave reads for a while what two processes write, and counts the runs of one letter that do
// not consist of whole messages.
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

// A runCounter counts runs of one letter.
type runCounter struct {
	size     int // bytes of a message
	messages int // whole messages in finished runs
	runs     int
	broken   int // runs that do not consist of whole messages
	run      int // bytes of the current run
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

// wholeMessages returns how many whole messages came so far.
func (c *runCounter) wholeMessages() int { return c.messages + c.run/c.size }

// enough reports whether to stop reading: after interleaveTime if enough messages came, else after
// slowInterleaveTime.
func (c *runCounter) enough(spent time.Duration) bool {
	return spent >= slowInterleaveTime ||
		spent >= interleaveTime && c.wholeMessages() >= leastMessages
}

func (t *trial) foundInterleaved(size, read int, c runCounter) {
	how := fmt.Sprintf("two processes write %d bytes a call, reads of %d: "+
		"%d of %d runs of one writer's bytes were no whole messages", size, read, c.broken, c.runs)
	var cut any = c.broken > 0
	if c.broken == 0 && (c.wholeMessages() < leastMessages || c.runs < leastRuns) {
		cut = tooFew
	}
	t.found(fmt.Sprintf("interleave/%d/read-%d", size, read), cut, "", how)
}

// tooFew is the value of a finding if no message was cut, but too few came through to prove
// anything.
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

// If no byte is accepted for stallTime, that is a deadlock: the process on the other side has
// nothing else to do, so it would have read.
const stallTime = 500 * time.Millisecond

// deadlock builds the deadlock that most people meet: a parent writes all it has before it reads,
// and the child answers as it goes.
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
	stuck := t.writeUntilStuck(toChild, capacity)
	how := fmt.Sprintf("bytes a parent can write before it hangs, to a child that reads %d, "+
		"then writes them; nothing for %v is a hang", capacity, stallTime)
	step := "deadlock/parent-writes"
	if t.system().os == "linux" {
		t.foundBeside(step, stuck, "B", how, 3*capacity, "both capacities and what the child holds")
	} else {
		t.found(step, stuck, "B", how)
	}

	toChild.Close() // and now the parent reads, which resolves it
	got, err := io.Copy(io.Discard, fromChild)
	t.Check(err)
	t.Check(child.Wait())
	how = "whether all of it came back once the parent read"
	t.foundBeside("deadlock/resolved", got == int64(stuck), "", how, true, "" /* no source */)
}

// writeUntilStuck writes until nothing more is accepted for stallTime. A stall counts only after
// more bytes than the pipe's capacity were accepted: only then has the child started to read.
func (t *trial) writeUntilStuck(w *syspipe.End, capacity int) (total int) {
	since := time.Now()
	p := make([]byte, 4096)
	for total < 16*capacity && t.Err() == nil {
		n, full := t.tryWrite(w, p)
		total += n
		switch {
		case !full:
			since = time.Now()
		case total > capacity && time.Since(since) > stallTime:
			return total
		default:
			time.Sleep(time.Millisecond)
		}
	}
	return total
}
