package check

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// streams describes the standard streams of one start, and what is done at their other ends. In the
// zero value, standard output is an anonymous pipe that is read at once.
type streams struct {
	pipe     syspipe.Kind // the kind of standard output
	capacity int          // of that pipe, in bytes; 0 is the system's default
	nonBlock bool         // the program's end is non-blocking
	device   string       // if set, standard output is the file of this name
	file     *os.File     // if set, standard output is this open file

	wait      time.Duration // how long nobody reads at first
	slow      bool          // the reader takes a little at a time, for at most slowTime
	leaves    leave         // when the reader closes its end
	midway    int64         // for leavesMidway: the bytes after which the reader leaves
	unreadErr bool          // nobody reads standard error

	input input
	// settle is how long the program waits for its input: after the first piece of a slowInput, so
	// that it reads that piece alone, and in all of a silentInput, so that it asks for input.
	settle time.Duration
	work   time.Duration // CPU time that all of the program's work takes; 0 if not known
}

// A leave says when a reader closes its end.
type leave int

const (
	stays leave = iota
	leavesAtOnce
	leavesAfterLine
	leavesMidway
)

// An input says how Options.Stdin comes to the program.
type input int

const (
	wholeInput  input = iota
	closedInput       // descriptor 0 is closed
	emptyInput        // nothing comes, and the input ends at once
	silentInput       // nothing comes, and the input stays open for settle
	slowInput         // in pieces that may end inside a line
	cutInput          // without its last newline
)

// Times and amounts.
const (
	quiet     = 500 * time.Millisecond // how long nobody reads, or nothing comes, at least
	slowTime  = time.Second            // how long a slow reader reads slowly
	slowPause = 20 * time.Millisecond  // before each read of a slow reader
	slowBytes = 16 << 10               // per read of a slow reader
	restTime  = 2 * time.Second        // to read what is in a pipe after its writer has ended
	spill     = 1 << 20                // bytes of output that are kept beyond the expected ones
)

// An outcome is what one start of the program did.
type outcome struct {
	streams
	process *proc.Process
	reader  *syspipe.End // of the program's standard output; nil if that is a file
	begun   time.Time

	out   []byte // the output, as far as it is kept
	total int64  // bytes of output
	end   string // "exit 0", "SIGPIPE"; "" if it did not end by itself in time
	code  int    // its exit code
	said  string // the last part of standard error
	logs  int64  // bytes of standard error

	took    time.Duration // from start to end, or to when it was given up
	noticed time.Duration // from the reader's leaving to the end
	moved   time.Duration // from start to when the last bytes came
	cpu     time.Duration // CPU time in all; 0 if not known

	peak    int64     // memory in bytes, before anything was read, or at the end; 0 if not known
	queued  int       // bytes in the pipe when the reader began
	grew    time.Time // when watch last found more bytes in the pipe than before
	early   bool      // the late reader began while the program still wrote
	holds   int       // bytes that the pipe holds; 0 if not known
	spins   bool      // it ran all the time while it had to wait
	running bool      // it still had a CPU, or waited for one, when its time was up
	overdue bool      // its time was up, so its reader left

	arrivals      []arrival
	left, holding []string // processes that it left behind, and those that hold its output
}

// An arrival is a read that brought something: when, and how many bytes had come by then.
type arrival struct {
	at    time.Duration
	bytes int64
}

// start starts the program once, and reads its output until it ends, limit is over, or more than
// bound bytes have come.
func (f *finding) start(
	ctx context.Context, s streams, limit time.Duration, bound int64,
) (*outcome, error) {
	if s.device != "" {
		device, err := os.OpenFile(s.device, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		s.file = device
		defer device.Close()
	}
	p, err := f.ready(s)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	o := &outcome{streams: s, process: p}
	if s.file != nil {
		p.Cmd.Stdout = s.file
	} else {
		kind := cmp.Or(s.pipe, syspipe.Anonymous)
		o.reader, err = p.Connect(1, kind, s.capacity, s.nonBlock)
		if err != nil {
			return nil, err
		}
	}
	silent, silence := io.Pipe() // silent is an input without bytes, until silence is closed
	p.Cmd.Stdin = s.stdin(f.options.Stdin, silent)
	if s.unreadErr {
		if _, err := p.Pipe(2); err != nil { // nobody reads from this pipe
			return nil, err
		}
	}
	if s.leaves == leavesAtOnce {
		o.reader.Close()
	}
	o.begun = time.Now()
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	if o.reader != nil && o.reader.Kind().IsPipe() && s.leaves != leavesAtOnce {
		o.holds, _ = o.reader.Capacity()
	}
	if s.wait > 0 {
		o.delayReader(limit / 2)
		limit += time.Since(o.begun) // the program's time begins when somebody reads
	}
	leftAt := o.follow(limit, bound, silence)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o.conclude(f.mark, leftAt)
	return o, nil
}

// ready prepares a start of the program. os/exec cannot start a program with descriptor 0 closed,
// so a shell closes it.
func (f *finding) ready(s streams) (*proc.Process, error) {
	if s.input != closedInput {
		return f.command(f.options.Command), nil
	}
	if runtime.GOOS == "windows" {
		return nil, errors.New("a process without a standard input cannot be started on Windows")
	}
	argv := []string{"sh", "-c", `exec "$@" <&-`, "sh"}
	return f.command(append(argv, f.options.Command...)), nil
}

// stdin returns the input of a start; nil for none. whole is all of Options.Stdin.
func (s streams) stdin(whole []byte, silent io.Reader) io.Reader {
	switch s.input {
	case slowInput:
		pauses := []time.Duration{0, s.settle, 10 * time.Millisecond}
		return &pieces{rest: whole, size: max(7, len(whole)/20), pauses: pauses}
	case cutInput:
		return bytes.NewReader(bytes.TrimRight(whole, "\r\n"))
	case silentInput:
		return silent
	case emptyInput:
		return bytes.NewReader(nil)
	}
	if whole == nil {
		return nil
	}
	return bytes.NewReader(whole)
}

// delayReader waits for o.wait before anybody reads. It waits longer, up to limit, for a program
// that still writes: only a full pipe shows whether the program waits for its reader.
func (o *outcome) delayReader(limit time.Duration) {
	for !o.process.Ended(tick/5) && time.Since(o.begun) < limit {
		n, _ := o.reader.Buffered()
		if n > 0 { // now the wait begins
			break
		}
	}
	for {
		o.watch(o.reader, o.wait)
		writes := time.Since(o.grew) < o.wait/2 // in the later half of the wait
		o.early = writes && !o.process.Ended(0)
		if !o.early || time.Since(o.begun) > limit {
			return
		}
	}
}

// follow reads until the program has ended and everything was read, or until limit is over. It
// returns when the reader left, or the output ended. To end a silentInput, it closes silence.
func (o *outcome) follow(limit time.Duration, bound int64, silence io.Closer) (leftAt time.Time) {
	var hurry atomic.Bool // the program has ended, so a slow reader reads fast
	read := make(chan time.Time, 1)
	go func() { read <- o.read(bound, &hurry) }()
	if o.input == silentInput {
		o.watch(nil, o.settle)
		limit += time.Since(o.begun) // the program's time begins when its input ends
	}
	silence.Close()
	if o.file != nil {
		o.followFile(limit, bound)
		return <-read
	}
	over := time.After(time.Until(o.begun.Add(limit)))
	select {
	case <-o.process.Done():
		hurry.Store(true)
		select {
		case leftAt = <-read:
			return leftAt
		case <-time.After(restTime): // another process holds the other end open
		}
	case leftAt = <-read: // the program has closed its output, or the reader has left
		select {
		case <-o.process.Done():
		case <-over:
			o.running = o.stillRuns()
		}
		return leftAt
	case <-over:
		o.running = o.stillRuns()
	}
	o.overdue = !o.process.Ended(0)
	o.reader.Close()
	return <-read
}

// followFile waits for a program whose output is a file. It stops waiting when the file is larger
// than bound, since an endless program would fill the disk.
func (o *outcome) followFile(limit time.Duration, bound int64) {
	for !o.process.Ended(tick/10) && time.Since(o.begun) < limit {
		info, err := o.file.Stat()
		if err != nil || info.Size() > bound {
			break
		}
		o.process.PeakMemory() // keeps the peak so far: after the end it cannot be read
	}
	o.running = o.stillRuns()
}

// read reads until the output ends or the reader leaves, and returns when that was. The reader
// leaves after more than bound bytes, or when o.leaves says so.
func (o *outcome) read(bound int64, hurry *atomic.Bool) time.Time {
	if o.reader == nil || o.leaves == leavesAtOnce {
		return o.begun
	}
	buf := make([]byte, 64<<10)
	reading := time.Now()
	for {
		p := buf
		if o.slow && time.Since(reading) < slowTime && !hurry.Load() {
			time.Sleep(slowPause)
			p = buf[:slowBytes]
		}
		n, err := o.reader.Read(p)
		if n > 0 {
			o.arrived(p[:n], bound)
		}
		if err != nil {
			return time.Now()
		}
		if o.readerLeaves() || o.total > bound {
			o.reader.Close()
			return time.Now()
		}
	}
}

const mostArrivals = 10_000 // that are kept

// arrived notes what a read brought.
func (o *outcome) arrived(p []byte, bound int64) {
	now := time.Since(o.begun)
	o.moved = now
	o.total += int64(len(p))
	if int64(len(o.out)) < bound+spill {
		o.out = append(o.out, p...)
	}
	if len(o.arrivals) < mostArrivals {
		o.arrivals = append(o.arrivals, arrival{now, o.total})
	}
}

// readerLeaves reports whether the reader has what it waited for.
func (o *outcome) readerLeaves() bool {
	switch o.leaves {
	case leavesAfterLine:
		return bytes.IndexByte(o.out, '\n') >= 0
	case leavesMidway:
		return o.total >= o.midway
	}
	return false
}

// conclude records how the program ended, and what it left behind. leftAt is when its reader left.
func (o *outcome) conclude(mark string, leftAt time.Time) {
	now := time.Now()
	p := o.process
	o.took = now.Sub(o.begun)
	o.noticed = now.Sub(leftAt)
	if o.peak == 0 {
		o.peak, _ = p.PeakMemory()
	}
	o.cpu, _ = p.CPU()
	if p.Ended(0) && !o.overdue { // an overdue one may have ended because its reader left
		o.code = p.ExitCode()
		o.end = fmt.Sprintf("exit %d", o.code)
		if _, name, ok := proc.Signaled(p.Cmd.ProcessState); ok {
			o.end = name
		}
		if o.file != nil {
			o.findLeft(mark)
		}
	}
	o.said = p.Stderr().String()
	o.logs = p.Stderr().Total()
}

// words returns the last line of standard error, to be quoted.
func (o *outcome) words() string { return lastLine(o.said) }

// pieces is an input that comes in pieces, with a pause before each.
type pieces struct {
	rest   []byte // what has not come yet
	size   int
	pauses []time.Duration // before each piece; the last one is also for all later pieces
}

func (p *pieces) Read(to []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	time.Sleep(p.pauses[0])
	p.pauses = p.pauses[min(1, len(p.pauses)-1):]
	n := copy(to, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}
