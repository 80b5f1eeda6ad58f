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
	midway    int64         // for leavesMidway: bytes after which it leaves
	unreadErr bool          // nobody reads standard error

	input input
	// settle is how long an input keeps the program waiting; it grows with how slow the program is.
	// A slowInput pauses after its first piece, so that the program reads that piece alone. A
	// silentInput brings nothing, so that the program gets as far as to ask for input.
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
	emptyInput        // nothing comes
	silentInput       // nothing comes, and the input stays open for settle
	slowInput         // comes in pieces that may end inside a line
	cutInput          // comes without its last newline
)

// Times and amounts.
const (
	quiet     = 500 * time.Millisecond // how long nobody reads, or nothing comes, at least
	slowTime  = time.Second            // how long a slow reader reads slowly
	slowPause = 20 * time.Millisecond
	slowBytes = 16 << 10 // per read of a slow reader
	tick      = 25 * time.Millisecond
	spun      = 300 * time.Millisecond // CPU time that a suspect has to use to count as spinning
	slowest   = 20                     // how many times longer than planned a suspect is watched
	holdOn    = 2 * time.Second        // time to read what is in a pipe after its writer has ended
	spill     = 1 << 20                // bytes kept beyond the expected ones
)

// An outcome is what one start of the program did.
type outcome struct {
	streams
	process *proc.Process
	reader  *syspipe.End // of the program's standard output; nil if that is a file
	begun   time.Time

	out   []byte // the output, as far as it is kept
	total int64  // bytes of output
	end   string // "exit 0", "SIGPIPE"; "" if it had not ended
	code  int
	said  string // the last part of standard error
	logs  int64  // bytes of all of standard error

	took    time.Duration // from start to end
	noticed time.Duration // from the reader's leaving to the end
	moved   time.Duration // from start to when the last bytes came
	cpu     time.Duration // in all; 0 if not known

	peak    int64     // memory in bytes, before anything was read, or at the end; 0 if not known
	queued  int       // bytes in the pipe when the reader began
	grew    time.Time // when a look last found more bytes in the pipe
	early   bool      // it still wrote when the late reader began
	holds   int       // bytes that the pipe holds; 0 if that is not known
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

// start starts the program once and watches it until it ends, or limit is over.
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
	nothing, silence := io.Pipe() // an input that gives nothing, and ends when silence is closed
	p.Cmd.Stdin = s.stdin(f.o.Stdin, nothing)
	if s.unreadErr {
		if _, err := p.Pipe(2); err != nil {
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
	left := o.follow(limit, bound, silence)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o.conclude(f.mark, left)
	return o, nil
}

// ready prepares a start of the program. os/exec cannot start a program with descriptor 0 closed,
// so a shell closes it.
func (f *finding) ready(s streams) (*proc.Process, error) {
	if s.input != closedInput {
		return f.command(f.o.Command), nil
	}
	if runtime.GOOS == "windows" {
		return nil, errors.New("a process without a standard input cannot be started on Windows")
	}
	argv := []string{"sh", "-c", `exec "$@" <&-`, "sh"}
	return f.command(append(argv, f.o.Command...)), nil
}

// stdin returns the input of a start; nil for none.
func (s streams) stdin(whole []byte, nothing io.Reader) io.Reader {
	switch s.input {
	case slowInput:
		pauses := []time.Duration{0, s.settle, 10 * time.Millisecond}
		return &pieces{rest: whole, size: max(7, len(whole)/20), pauses: pauses}
	case cutInput:
		return bytes.NewReader(bytes.TrimRight(whole, "\r\n"))
	case silentInput:
		return nothing
	case emptyInput:
		return bytes.NewReader(nil)
	}
	if whole == nil {
		return nil
	}
	return bytes.NewReader(whole)
}

// delayReader lets nobody read for a while. A program that goes on writing gets longer, since only
// a full pipe shows whether it waits for its reader.
func (o *outcome) delayReader(limit time.Duration) {
	o.awaitOutput(limit)
	for {
		o.watch(o.reader, o.wait)
		o.early = time.Since(o.grew) < o.wait/2 && !o.process.Ended(0)
		if !o.early || time.Since(o.begun) > limit {
			return
		}
	}
}

// awaitOutput waits until there is something to read: the wait of a late reader begins only then.
func (o *outcome) awaitOutput(limit time.Duration) {
	for !o.process.Ended(tick/5) && time.Since(o.begun) < limit {
		if n, _ := o.reader.Buffered(); n > 0 {
			return
		}
	}
}

// follow reads what comes until the program has ended and everything was read, or until limit is
// over, and returns when the reader left.
func (o *outcome) follow(limit time.Duration, bound int64, silence io.Closer) (left time.Time) {
	var hurry atomic.Bool
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
		case left = <-read:
			return left
		case <-time.After(holdOn): // another process holds the other end
		}
	case left = <-read: // the program has closed its output, or the reader has left
		select {
		case <-o.process.Done():
		case <-over:
			o.running = o.stillRuns()
		}
		return left
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

// read reads until the end of the output, or until the reader leaves, and returns when that was.
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

const mostArrivals = 10_000

// arrived keeps what a read brought.
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

// conclude records how the program ended, and what it left.
func (o *outcome) conclude(mark string, left time.Time) {
	now := time.Now()
	p := o.process
	o.took = now.Sub(o.begun)
	o.noticed = now.Sub(left)
	if o.peak == 0 {
		o.peak, _ = p.PeakMemory()
	}
	o.cpu, _ = p.CPU()
	if p.Ended(0) && !o.overdue { // else it may have ended because its reader left
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
	rest   []byte
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
