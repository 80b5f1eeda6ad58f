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

// streams says how the standard streams of one run are set up. In the zero value, standard output
// is an anonymous pipe that is read at once.
type streams struct {
	pipe     syspipe.Kind // the kind of pipe that is standard output; "" is an anonymous one
	capacity int          // of that pipe, in bytes; 0 is the system's default
	nonBlock bool         // the program's end of the pipe is in non-blocking mode
	device   string       // if set, standard output is the file of this name, not a pipe
	file     *os.File     // if set, standard output is this open file, not a pipe

	wait      time.Duration // how long the reader waits before it begins to read
	slow      bool          // the reader takes a little at a time, for at most slowTime
	leaves    leave         // when the reader closes its end of the pipe
	midway    int64         // for leavesMidway: bytes after which the reader closes its end
	unreadErr bool          // nobody reads standard error

	input input
	// For an input of the kind slowInput, settle is the pause after the first piece. For the kind
	// silentInput, it is how long the input stays open.
	settle time.Duration
	work   time.Duration // CPU time that the program uses when its output is a file; 0: not known
}

// A leave says when a reader closes its end.
type leave int

const (
	stays leave = iota
	leavesAtOnce
	leavesAfterLine
	leavesMidway
)

// An input says how the program gets Options.Stdin.
type input int

const (
	wholeInput  input = iota
	closedInput       // no input: descriptor 0 is closed
	emptyInput        // no byte: the input ends at once
	silentInput       // no byte: the input stays open for streams.settle, and then ends
	slowInput         // in pieces that may end inside a line, with pauses between them
	cutInput          // without its last newline
)

const (
	// The shortest time for which a late reader waits before it reads, and a silent input stays
	// open.
	quiet     = 500 * time.Millisecond
	slowTime  = time.Second           // how long a slow reader reads slowly; then it reads fast
	slowPause = 20 * time.Millisecond // before each read of a slow reader
	slowBytes = 16 << 10              // per read of a slow reader
	restTime  = 2 * time.Second       // how long we read on after the writer has ended
	spill     = 1 << 20               // bytes of output that are kept beyond the expected ones
)

// An outcome is what one start of the program did.
type outcome struct {
	streams
	process *proc.Process
	reader  *syspipe.End // our end of standard output; nil if standard output is a file
	begun   time.Time

	out         []byte // the beginning of the output, up to spill bytes more than was expected
	total       int64  // bytes of output
	end         string // how the program ended, such as "exit 0"; "" if it had to be stopped
	code        int    // the exit code
	said        string // the last part of standard error
	stderrBytes int64  // bytes of standard error

	took            time.Duration // from the program's start to its end, or to when we gave it up
	endedAfterLeave time.Duration // from when the reader closed its end to when the program ended
	lastOutputAt    time.Duration // from the program's start to when the last bytes came
	cpu             time.Duration // CPU time in all; 0 if not known

	// The most memory that the program used, in bytes; 0 if not known. If the program had to wait
	// for its reader or for input, only memory up to the end of that wait counts.
	peak       int64
	queued     int       // bytes in the pipe when the reader began
	grew       time.Time // when looksBusy last found more bytes in the pipe than before
	stillWrote bool      // the late reader began while the program still wrote
	capacity   int       // bytes that the pipe holds; 0 if not known
	spins      bool      // the program ran all the time while it had to wait
	running    bool      // the program still had a CPU, or waited for one, when its time was up
	givenUp    bool      // the program's time was up, so the reader closed its end of the pipe

	arrivals []arrival
	// Names of processes that outlived the program and hold its output open.
	holding []string
}

// An arrival is a read that brought bytes.
type arrival struct {
	at    time.Duration // since the start of the program
	bytes int64         // all that had come by then
}

// start runs the program once, and reads its output. It stops at the end of the output, when the
// time limit is over, or when more than bound bytes have come.
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
	silent, silence := io.Pipe() // no byte comes from silent; it ends when silence is closed
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
		o.capacity, _ = o.reader.Capacity()
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

// ready prepares a run of the program. If the program is to have no standard input, a shell closes
// it, since os/exec cannot.
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

// stdin returns the program's standard input, or nil if there is none. The parameter whole is all
// of Options.Stdin, and silent is a reader from which no byte comes.
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

// delayReader waits for the time o.wait after the program's first output, and reads nothing. It
// waits longer while the program still writes, until the time limit is over.
func (o *outcome) delayReader(limit time.Duration) {
	for !o.process.Ended(tick/5) && time.Since(o.begun) < limit {
		n, _ := o.reader.Buffered()
		if n > 0 { // the program has begun to write, so the wait begins
			break
		}
	}
	for {
		o.watch(o.reader, o.wait)
		writes := time.Since(o.grew) < o.wait/2 // it wrote in the later half of the wait
		o.stillWrote = writes && !o.process.Ended(0)
		if !o.stillWrote || time.Since(o.begun) > limit {
			return
		}
	}
}

// follow reads until the program has ended or the time limit is over. It returns the time at which
// the reader stopped. The parameter silence is closed to end an input of the kind silentInput.
func (o *outcome) follow(limit time.Duration, bound int64, silence io.Closer) (leftAt time.Time) {
	var hurry atomic.Bool // set when the program has ended: then a slow reader reads fast
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
	o.givenUp = !o.process.Ended(0)
	o.reader.Close()
	return <-read
}

// followFile waits until the program has ended, or until the time limit is over. It also stops if
// the file exceeds bound bytes, since an endless program would fill the disk.
func (o *outcome) followFile(limit time.Duration, bound int64) {
	for !o.process.Ended(tick/10) && time.Since(o.begun) < limit {
		info, err := o.file.Stat()
		if err != nil || info.Size() > bound {
			break
		}
		o.process.PeakMemory() // keeps the peak so far, which is lost when the program ends
	}
	o.running = o.stillRuns()
}

// read reads until the output ends, more than bound bytes have come, or o.leaves says to stop. It
// returns the time at which it stopped.
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

const mostArrivals = 10_000 // the largest number of arrivals that are kept

func (o *outcome) arrived(p []byte, bound int64) {
	now := time.Since(o.begun)
	o.lastOutputAt = now
	o.total += int64(len(p))
	if int64(len(o.out)) < bound+spill {
		o.out = append(o.out, p...)
	}
	if len(o.arrivals) < mostArrivals {
		o.arrivals = append(o.arrivals, arrival{now, o.total})
	}
}

// readerLeaves reports whether enough has come for the reader to close its end.
func (o *outcome) readerLeaves() bool {
	switch o.leaves {
	case leavesAfterLine:
		return bytes.IndexByte(o.out, '\n') >= 0
	case leavesMidway:
		return o.total >= o.midway
	}
	return false
}

// conclude records how the program ended. The parameter leftAt is the time at which the reader of
// the program's output stopped.
func (o *outcome) conclude(mark string, leftAt time.Time) {
	now := time.Now()
	p := o.process
	o.took = now.Sub(o.begun)
	o.endedAfterLeave = now.Sub(leftAt)
	if o.peak == 0 {
		o.peak, _ = p.PeakMemory()
	}
	o.cpu, _ = p.CPU()
	if p.Ended(0) && !o.givenUp { // else its reader may have ended it by leaving
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
	o.stderrBytes = p.Stderr().Total()
}

// words returns the last line of standard error, to be quoted in a sentence.
func (o *outcome) words() string { return lastLine(o.said) }

// pieces is a reader from which bytes come in pieces, with a pause before each.
type pieces struct {
	rest   []byte          // what has not come yet
	size   int             // of a piece, in bytes
	pauses []time.Duration // before each piece; the last pause is also that of all later pieces
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
