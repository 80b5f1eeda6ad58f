package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// The names of what a worker does.
const (
	workStep  = "probe/step"  // makes an experiment
	workWrite = "probe/write" // writes one letter again and again until the reader leaves
	workHold  = "probe/hold"  // keeps an end open
	workEcho  = "probe/echo"  // copies from one end to another, a block at a time
	workStdio = "probe/stdio" // tells what its standard streams are
)

// startWorker starts work on ends that stay open here. The worker ends with this process, which has
// a deadline.
func startWorker(name string, args any, ends ...*syspipe.End) *proc.Process {
	p := script.Must(proc.Self(name, args, ends...))
	p.Share()
	script.Check(p.Start(context.Background()))
	return p
}

type stepArgs struct {
	Step string
	Kind syspipe.Kind
}

type writeArgs struct {
	Letter string
	Size   int // bytes a call
}

func writeLetters(w *proc.Work) {
	var args writeArgs
	script.Check(w.Args(&args))
	message := []byte(strings.Repeat(args.Letter, args.Size))
	runtime.LockOSThread()
	for {
		_, err := w.Ends[0].Write(message)
		if syspipe.ReaderLeft(err) {
			return
		}
		script.Check(err)
	}
}

func echo(w *proc.Work) {
	var block int
	script.Check(w.Args(&block))
	for p := make([]byte, block); ; {
		k, err := io.ReadFull(w.Ends[0], p)
		script.Must(w.Ends[1].Write(p[:k]))
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return
		}
		script.Check(err)
	}
}

// A stdioReport is what a child says of its standard streams.
type stdioReport struct {
	Streams [3]syspipe.Stream
	Errors  [3]string
}

func describeStdio(w *proc.Work) {
	var report stdioReport
	for i, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		var err error
		if report.Streams[i], err = syspipe.Describe(f); err != nil {
			report.Errors[i] = err.Error()
		}
	}
	script.Check(w.Report(report))
}

// interleaveTime is how long two writers get to come between each other's bytes, fewMessages how many
// have to come through for an unbroken pipe to say something, and fewRuns how often the writers have to
// take turns; where all is slow, they get longer for the messages.
const (
	interleaveTime     = 120 * time.Millisecond
	slowInterleaveTime = 3 * time.Second
	fewMessages        = 20
	fewRuns            = 5
)

// probeInterleave lets two processes write messages of one letter each. Sizes that divide the
// capacity, drained in reads of the whole capacity, look whole without being safe; so others are
// tried too, and small reads.
func probeInterleave(t *trial) {
	slot := t.slot()
	w, _ := t.open()
	capacity := script.Must(w.Capacity())
	for _, size := range interleaveSizes(slot) {
		for _, read := range ascending(max(slot, 4096), capacity) {
			t.interleave(size, read)
		}
	}
}

// interleaveSizes returns the sizes at which rules differ: about PIPE_BUF of the BSDs and of Linux,
// a slot, and what is split in any case.
func interleaveSizes(slot int) []int {
	return ascending(512, 513, 4096, 4097, 60<<10, max(slot, 4096), max(slot+1, 4097))
}

// interleave reads for a while and counts the runs of one letter that are no whole messages. The
// first run counts as well as the others: a writer's bytes begin with a message.
func (t *trial) interleave(size, read int) {
	w, r := t.openBlocking()
	if err := r.SetIO(syspipe.Poll); !errors.Is(err, errors.ErrUnsupported) {
		script.Check(err)
	}
	var writers []*proc.Process
	for _, letter := range []string{"a", "b"} {
		writers = append(writers, startWorker(workWrite, writeArgs{letter, size}, w))
	}
	w.Close()
	var messages, runs, broken, run int
	var letter byte
	p := make([]byte, read)
	began := syspipe.Now()
	enough := func(spent time.Duration) bool {
		return spent >= interleaveTime && messages+run/size >= fewMessages || spent >= slowInterleaveTime
	}
	for !enough(syspipe.Now() - began) {
		for _, b := range p[:script.Must(r.Read(p))] {
			if b != letter && run > 0 {
				messages += run / size
				runs++
				if run%size != 0 {
					broken++
				}
				run = 0
			}
			letter = b
			run++
		}
	}
	r.Close()
	for _, writer := range writers {
		script.Check(writer.Wait())
	}
	t.foundInterleaved(size, read, messages+run/size, runs, broken)
}

func (t *trial) foundInterleaved(size, read, messages, runs, broken int) {
	how := fmt.Sprintf("two processes write %d bytes a call, reads of %d: of %d runs of one writer's bytes %d were no whole messages", size, read, runs, broken)
	f := t.finding(fmt.Sprintf("interleave/%d/read-%d", size, read), broken > 0, "", how)
	if broken == 0 && (messages < fewMessages || runs < fewRuns) {
		f.Value, f.Agrees = "too few", nil
	}
	t.emit(f)
}

// stallTime without a byte accepted is a deadlock: the other side is a process that has nothing
// else to do.
const stallTime = 500 * time.Millisecond

// probeDeadlock builds the classic one: a parent writes all it has before it reads, and the child
// answers as it goes.
func probeDeadlock(t *trial) {
	toChild, in := t.openBlocking()
	out, fromChild := t.openBlocking()
	capacity := script.Must(toChild.Capacity())
	child := startWorker(workEcho, capacity, in, out)
	in.Close()
	out.Close()
	script.Check(toChild.SetIO(syspipe.Spin))
	stuck := writeUntilStuck(toChild, capacity)
	f := t.finding("deadlock/parent-writes", stuck, "B",
		fmt.Sprintf("bytes a parent can write before it hangs, to a child that reads %d, then writes them; nothing for %v is a hang", capacity, stallTime))
	if t.system().os == "linux" {
		f = f.compare(3*capacity, "both capacities and what the child holds")
	}
	t.emit(f)
	toChild.Close() // and now the parent reads, which resolves it
	got := script.Must(io.Copy(io.Discard, fromChild))
	script.Check(child.Wait())
	t.emit(t.finding("deadlock/resolved", got == int64(stuck), "", "whether all of it came back once the parent read").compare(true, ""))
}

// writeUntilStuck writes until nothing more is accepted for a while. The pipe alone takes its
// capacity, so what is beyond that shows that the child has started; a stall before does not count.
func writeUntilStuck(w *syspipe.End, capacity int) (total int) {
	since := time.Now()
	for p := make([]byte, 4096); total < 16*capacity; {
		n, full := tryWrite(w, p)
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

// probeStdio looks at what a child gets: from os/exec with pipes, and, for a socket pair, what
// Node.js gives its children.
func probeStdio(t *trial) {
	p := script.Must(proc.Self(workStdio, nil))
	from := "os/exec"
	switch t.kind {
	case syspipe.Anonymous:
		p.Cmd.Stdout = io.Discard // os/exec makes a pipe of it
		script.Must(p.Cmd.StdinPipe())
	case syspipe.SocketPair:
		from = "socketpair"
		end, _ := t.openBlocking()
		file := script.Must(end.File())
		p.Cmd.Stdin, p.Cmd.Stdout, p.Cmd.Stderr = file, file, file
	default:
		return // os/exec makes pipes of no other kind
	}
	script.Check(p.Start(context.Background()))
	var report stdioReport
	script.Check(p.Report(&report))
	for i, name := range []string{"stdin", "stdout", "stderr"} {
		stream := report.Streams[i]
		text := stream.Kind + map[bool]string{false: ", blocking", true: ", non-blocking"}[stream.NonBlocking]
		if stream.Capacity > 0 {
			text += fmt.Sprintf(", %d bytes", stream.Capacity)
		}
		f := t.finding("stdio/"+from+"/"+name, text, "", "what the child sees there")
		if report.Errors[i] != "" {
			f.Value, f.How = "unknown", report.Errors[i]
		}
		t.emit(f)
	}
}

func probeBroken(t *trial) {
	w, r := t.openBlocking()
	r.Close()
	signals := syspipe.CountSIGPIPE()
	_, err := w.Write([]byte{1})
	t.found("broken/no-reader", syspipe.ErrorName(err), "", "write one byte after the reader has closed")
	t.foundSignal("broken/no-reader/sigpipe", signals)
	for _, taken := range []int{0, 100, 2 * t.slot()} {
		t.readerLeaves(taken)
	}
}

// readerLeaves closes the reader while a blocking write waits, after taking some bytes.
func (t *trial) readerLeaves(taken int) {
	w, r := t.openBlocking()
	capacity := script.Must(w.Capacity())
	signals := syspipe.CountSIGPIPE()
	var accepted int
	var failed error
	var noticed time.Duration
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		accepted, failed = w.Write(make([]byte, capacity+100*1000))
		noticed = syspipe.Now()
	}()
	awaitSteady(r)
	if taken > 0 {
		script.Must(io.ReadFull(r, make([]byte, taken)))
		awaitSteady(r)
	}
	start := syspipe.Now()
	r.Close()
	<-done

	step := fmt.Sprintf("broken/after-%d", taken)
	how := fmt.Sprintf("a blocked write of capacity + 100000 bytes; the reader takes %d and closes", taken)
	t.found(step+"/accepted", accepted, "B", how+"; bytes the kernel took")
	t.found(step+"/error", syspipe.ErrorName(failed), "", how)
	if failed != nil { // else the kernel took all of it before the reader closed
		t.found(step+"/notice", int64(noticed-start), "ns", "from the reader's close to the writer's error")
	}
	t.foundSignal(step+"/sigpipe", signals)
}

// awaitSteady waits until the fill of a pipe has not changed for a while: its writer is blocked
// then. After a second it waits no more.
func awaitSteady(r *syspipe.End) {
	const still = 25 * time.Millisecond
	last, since := -1, time.Now()
	for began := since; time.Since(began) < time.Second; time.Sleep(50 * time.Microsecond) {
		n, err := r.Buffered()
		if err != nil || n != last {
			last, since = n, time.Now()
		}
		if n > 0 && time.Since(since) > still {
			return
		}
	}
}

func (t *trial) foundSignal(step string, signals func() *int) {
	n := signals()
	t.found(step, n != nil && *n > 0, "", "whether SIGPIPE was sent to the writer")
}

func probeEOF(t *trial) {
	w, r := t.open()
	holder := script.Must(proc.Self(workHold, nil, w)) // whose Start closes w here
	script.Check(holder.Start(context.Background()))
	var held bool
	script.Check(holder.Report(&held))
	_, first := r.TryRead(make([]byte, 1))
	t.found("eof/another-writer", syspipe.ErrorName(first), "", "close the writing end while another process holds a copy of it, and read")
	holder.Release()
	script.Check(holder.Wait())
	_, last := r.TryRead(make([]byte, 1))
	t.found("eof/last-writer", syspipe.ErrorName(last), "", "and read when that is closed too")
}
