package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// The names of what a worker does.
const (
	workStep  = "probe/step"  // makes an experiment
	workWrite = "probe/write" // writes one letter again and again until the reader leaves
	workHold  = "probe/hold"  // keeps an end open
	workEcho  = "probe/echo"  // copies from one end to another, a block at a time
	workStdio = "probe/stdio" // tells what its standard streams are
)

func registerWork() {
	for name, work := range map[string]func(*proc.Work) error{
		workStep: makeStep, workWrite: writeLetters, workHold: hold, workEcho: echo, workStdio: describeStdio,
	} {
		proc.Register(name, func(w *proc.Work) error {
			runtime.GOMAXPROCS(8)  // blocking ends hold a scheduler slot each
			debug.SetGCPercent(-1) // and keep the collector waiting
			return work(w)
		})
	}
}

// startWorker starts work on ends that stay open here. The worker ends with this process, which has
// a deadline.
func startWorker(name string, args any, ends ...*syspipe.End) (*proc.Process, error) {
	p, err := proc.Self(name, args, ends...)
	if err != nil {
		return nil, err
	}
	p.Share()
	return p, p.Start(context.Background())
}

type stepArgs struct {
	Step string
	Kind syspipe.Kind
}

func makeStep(w *proc.Work) error {
	var args stepArgs
	if err := w.Args(&args); err != nil {
		return err
	}
	e, ok := experimentNamed(args.Step)
	if !ok {
		return fmt.Errorf("unknown step %q", args.Step)
	}
	return e.run(&trial{kind: args.Kind, experiment: e, emit: func(f Finding) error { return w.Report(f) }})
}

type writeArgs struct {
	Letter string
	Size   int // bytes a call
}

func writeLetters(w *proc.Work) error {
	var args writeArgs
	if err := w.Args(&args); err != nil {
		return err
	}
	message := []byte(strings.Repeat(args.Letter, args.Size))
	runtime.LockOSThread()
	for {
		if _, err := w.Ends[0].Write(message); errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func hold(w *proc.Work) error {
	if err := w.Report(true); err != nil {
		return err
	}
	w.Linger()
	return nil
}

func echo(w *proc.Work) error {
	var block int
	if err := w.Args(&block); err != nil {
		return err
	}
	for p := make([]byte, block); ; {
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

// A stdioReport is what a child says of its standard streams.
type stdioReport struct {
	Streams [3]syspipe.Stream
	Errors  [3]string
}

func describeStdio(w *proc.Work) error {
	var report stdioReport
	for i, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		s, err := syspipe.Describe(f)
		report.Streams[i] = s
		if err != nil {
			report.Errors[i] = err.Error()
		}
	}
	return w.Report(report)
}

// interleaveTime is how long two writers get to come between each other's bytes.
const interleaveTime = 120 * time.Millisecond

// probeInterleave lets two processes write messages of one letter each. Sizes that divide the
// capacity, drained in reads of the whole capacity, look whole without being safe; so others are
// tried too, and small reads.
func probeInterleave(t *trial) error {
	slot, err := t.slot()
	if err != nil {
		return err
	}
	w, r, err := t.open()
	if err != nil {
		return err
	}
	capacity, err := w.Capacity()
	w.Close()
	r.Close()
	if err != nil {
		return err
	}
	for _, size := range []int{512, slot, slot + 1, 60 << 10} {
		for _, read := range []int{slot, capacity} {
			if err := t.interleave(size, max(read, 512), slot); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *trial) interleave(size, read, slot int) error {
	w, r, err := syspipe.Open(t.kind, 0)
	if err != nil {
		return err
	}
	if err := r.SetIO(syspipe.Poll); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	var writers []*proc.Process
	for _, letter := range []string{"a", "b"} {
		p, err := startWorker(workWrite, writeArgs{letter, size}, w)
		if err != nil {
			return err
		}
		writers = append(writers, p)
	}
	w.Close()
	messages, broken, err := countBroken(r, size, read)
	r.Close()
	for _, p := range writers {
		err = errors.Join(err, p.Wait())
	}
	if err != nil {
		return err
	}
	how := fmt.Sprintf("two processes write %d bytes a call, reads of %d: %d of some %d messages were broken", size, read, broken, messages)
	f := t.finding(fmt.Sprintf("interleave/%d/read-%d", size, read), broken > 0, "", how)
	if t.onLinux() && size <= slot {
		return t.predicted(f, false)
	}
	return t.emit(f) // above a slot it may happen, and need not within the time
}

// countBroken reads for a while and counts the runs of one letter that are no whole messages. The
// first run counts as well as the others: a writer's bytes begin with a message.
func countBroken(r *syspipe.End, size, read int) (messages, broken int, err error) {
	p := make([]byte, read)
	var letter byte
	run := 0
	for end := time.Now().Add(interleaveTime); time.Now().Before(end); {
		n, err := r.Read(p)
		if err != nil {
			return messages, broken, err
		}
		for _, b := range p[:n] {
			if b != letter && run > 0 {
				messages += run / size
				if run%size != 0 {
					broken++
				}
				run = 0
			}
			letter = b
			run++
		}
	}
	return messages + run/size, broken, nil
}

// stallTime without a byte accepted is a deadlock: the other side is a process that has nothing
// else to do.
const stallTime = 500 * time.Millisecond

// probeDeadlock builds the classic one: a parent writes all it has before it reads, and the child
// answers as it goes.
func probeDeadlock(t *trial) error {
	toChild, in, err := syspipe.Open(t.kind, 0)
	if err != nil {
		return err
	}
	out, fromChild, err := syspipe.Open(t.kind, 0)
	if err != nil {
		return err
	}
	capacity, err := toChild.Capacity()
	if err != nil {
		return err
	}
	block := capacity
	echo, err := startWorker(workEcho, block, in, out)
	if err != nil {
		return err
	}
	in.Close()
	out.Close()
	if err := toChild.SetIO(syspipe.Spin); err != nil {
		return err
	}
	stuck, err := writeUntilStuck(toChild, capacity)
	if err != nil {
		return err
	}
	f := t.finding("deadlock/parent-writes", stuck, "B",
		fmt.Sprintf("bytes a parent can write before it hangs, to a child that reads %d, then writes them; nothing for %v is a hang", block, stallTime))
	if t.isPipe() && t.onLinux() {
		err = t.emit(f.compare(2*capacity+block, "both capacities and what the child holds"))
	} else {
		err = t.emit(f)
	}
	if err != nil {
		return err
	}
	toChild.Close() // and now the parent reads, which resolves it
	got, err := io.Copy(io.Discard, fromChild)
	if err := errors.Join(err, echo.Wait()); err != nil {
		return err
	}
	return t.emit(t.finding("deadlock/resolved", got == int64(stuck), "", "whether all of it came back once the parent read").compare(true, ""))
}

// writeUntilStuck writes until nothing more is accepted for a while. The pipe alone takes its
// capacity, so what is beyond that shows that the child has started; a stall before does not count.
func writeUntilStuck(w *syspipe.End, capacity int) (int, error) {
	total, since := 0, time.Now()
	for p := make([]byte, 4096); total < 16*capacity; {
		n, err := w.TryWrite(p)
		total += n
		switch {
		case err == nil:
			since = time.Now()
		case !errors.Is(err, syscall.EAGAIN):
			return total, err
		case total > capacity && time.Since(since) > stallTime:
			return total, nil
		default:
			time.Sleep(time.Millisecond)
		}
	}
	return total, nil
}

// probeStdio looks at what a child gets: from os/exec with pipes, and, for a socket pair, what
// Node.js gives its children.
func probeStdio(t *trial) error {
	from := "os/exec"
	p, err := proc.Self(workStdio, nil)
	if err != nil {
		return err
	}
	defer p.Close()
	switch t.kind {
	case syspipe.Anonymous:
		p.Cmd.Stdout = io.Discard // os/exec makes a pipe of it
		_, err = p.Cmd.StdinPipe()
	case syspipe.SocketPair:
		from = "socketpair"
		err = t.socketStdio(p.Cmd)
	default:
		return nil // os/exec makes pipes of no other kind
	}
	if err != nil {
		return err
	}
	if err := p.Start(context.Background()); err != nil {
		return err
	}
	var report stdioReport
	if err := p.Report(&report); err != nil {
		return err
	}
	for i, name := range []string{"stdin", "stdout", "stderr"} {
		step := "stdio/" + from + "/" + name
		f := t.finding(step, describeStream(report.Streams[i]), "", "what the child sees there")
		if report.Errors[i] != "" {
			f.Value, f.How = "unknown", report.Errors[i]
		}
		if err := t.emit(f); err != nil {
			return err
		}
	}
	return nil
}

// socketStdio gives a child a socket as all its standard streams.
func (t *trial) socketStdio(cmd *exec.Cmd) error {
	end, _, err := syspipe.Open(t.kind, 0)
	if err != nil {
		return err
	}
	file, err := end.File()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = file, file, file
	return err
}

func describeStream(s syspipe.Stream) string {
	text := s.Kind
	if s.NonBlocking {
		text += ", non-blocking"
	} else {
		text += ", blocking"
	}
	if s.Capacity > 0 {
		text += fmt.Sprintf(", %d bytes", s.Capacity)
	}
	return text
}
