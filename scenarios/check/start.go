package check

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A manner is what the standard streams of one start are, and what is done at their other ends. The
// zero manner is an anonymous pipe that is read at once.
type manner struct {
	pipe     syspipe.Kind // of standard output
	capacity int          // of it, in bytes; 0 is the system's
	nonBlock bool         // the program's end is in non-blocking mode
	device   string       // it is this file instead
	file     *os.File     // it is this open one

	wait      time.Duration // before anybody reads
	slow      bool          // the reader takes a little at a time, for at most slowTime
	leaves    leave         // when the reader closes its end
	midway    int64         // of leavesMidway, bytes
	unreadErr bool          // nobody reads standard error

	input   func(whole []byte) io.Reader // nil gives all of Options.Stdin at once
	trickle bool                         // it comes in pieces that end anywhere
	// behind the first of them: a program that is slow to start reads it alone
	settle time.Duration
	// the input stays open for quiet, and ends then without a byte
	silent bool
	closed bool // descriptor 0 is closed
}

// A leave says when a reader closes its end.
type leave int

const (
	stays leave = iota
	leavesAtOnce
	leavesAfterLine
	leavesMidway
)

// How long and how much.
const (
	quiet     = 500 * time.Millisecond // nobody reads, or nothing comes
	slowTime  = time.Second            // a slow reader's reading
	slowPause = 20 * time.Millisecond
	slowBytes = 16 << 10 // a read
	tick      = 25 * time.Millisecond
	// of CPU time that a suspect has, on a busy machine after a while
	spun   = 300 * time.Millisecond
	holdOn = 2 * time.Second // for what is in a pipe whose writer has ended
	spill  = 1 << 20         // bytes beyond the expected ones that are kept
)

// An outcome is what one start of the program did.
type outcome struct {
	manner
	process *proc.Process
	reader  *syspipe.End // of its standard output; nil where that is a file
	begun   time.Time

	out   []byte // what came, as far as it is kept
	total int64  // bytes that came
	end   string // "exit 0", "SIGPIPE"; "" if it had not ended
	code  int
	said  string // the end of its standard error
	logs  int64  // bytes of all of that

	// to the end; to the first byte; from the reader's leaving to the end
	took, first, noticed time.Duration
	cpu                  time.Duration // of all it took; 0 where it is not known
	// bytes, when nothing was read yet, or at the end; 0 where it is not known
	peak int64
	// bytes that waited when the reader began; that the pipe holds, 0 if that is not known
	queued, holds int
	spins         bool // it ran all the while that it had to wait
	running       bool // it had a CPU, or waited for one, still when its time was up
	arrivals      []arrival
	// processes that it left behind, and of them those that hold its output
	left, holding []string
}

// An arrival is a read that brought something: how much had come by then.
type arrival struct {
	at    time.Duration
	bytes int64
}

// start starts the program once and watches it until it ends, or limit is over.
func (f *finding) start(
	ctx context.Context, m manner, limit time.Duration, bound int64,
) (*outcome, error) {
	if m.device != "" {
		device, err := os.OpenFile(m.device, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		m.file = device
		defer device.Close()
	}
	argv := f.o.Command
	if m.closed { // which os/exec cannot
		if runtime.GOOS == "windows" {
			return nil, errors.New(
				"a process without a standard input cannot be started on Windows",
			)
		}
		argv = append([]string{"sh", "-c", `exec "$@" <&-`, "sh"}, argv...)
	}
	p := f.command(argv)
	defer p.Close()
	o := &outcome{manner: m, process: p}
	if m.file != nil {
		p.Cmd.Stdout = m.file
	} else {
		reader, err := p.Connect(1, cmp.Or(m.pipe, syspipe.Anonymous), m.capacity, m.nonBlock)
		if err != nil {
			return nil, err
		}
		o.reader = reader
	}
	nothing, silence := io.Pipe() // an input that gives nothing, and ends when silence is closed
	p.Cmd.Stdin = m.stdin(f.o.Stdin, nothing)
	if m.unreadErr {
		if _, err := p.Pipe(2); err != nil {
			return nil, err
		}
	}
	if m.leaves == leavesAtOnce {
		o.reader.Close()
	}
	o.begun = time.Now()
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	if o.reader != nil && o.reader.Kind().IsPipe() && m.leaves != leavesAtOnce {
		o.holds, _ = o.reader.Capacity()
	}
	if m.wait > 0 { // late is a reader when there is something to read
		for n := 0; n == 0 && !p.Ended(tick/5) && time.Since(o.begun) < limit/2; {
			n, _ = o.reader.Buffered()
		}
		o.watch(o.reader, m.wait)
	}
	left := o.follow(limit, bound, silence)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o.conclude(f, left)
	return o, nil
}

// stdin returns the input of a start; nil for none.
func (m manner) stdin(whole []byte, nothing io.Reader) io.Reader {
	switch {
	case m.trickle:
		pauses := []time.Duration{0, m.settle, 10 * time.Millisecond}
		return &pieces{rest: whole, size: max(7, len(whole)/20), pauses: pauses}
	case m.input != nil:
		return m.input(whole)
	case m.silent:
		return nothing
	case whole != nil:
		return bytes.NewReader(whole)
	}
	return nil
}

// follow reads what comes until the program has ended and everything was read, or until limit is
// over, and returns when the reader left.
func (o *outcome) follow(limit time.Duration, bound int64, silence io.Closer) (left time.Time) {
	var hurry atomic.Bool
	read := make(chan time.Time, 1)
	go func() { read <- o.read(bound, &hurry) }()
	if o.silent {
		o.watch(nil, quiet)
	}
	silence.Close()
	over := time.After(time.Until(o.begun.Add(limit)))
	if o.file != nil { // an endless program would fill the disk
		for !o.process.Ended(tick/10) && time.Since(o.begun) < limit {
			if info, err := o.file.Stat(); err != nil || info.Size() > bound {
				break
			}
			o.process.PeakMemory() // which is not told of one that has ended
		}
		o.running = o.stillRuns()
		return <-read
	}
	select {
	case <-o.process.Done():
		hurry.Store(true)
		select {
		case left = <-read:
			return left
		case <-time.After(holdOn): // somebody else holds the other end
		}
	case left = <-read: // it has closed its output, or the reader has left
		select {
		case <-o.process.Done():
		case <-over:
		}
		return left
	case <-over:
		o.running = o.stillRuns()
	}
	o.reader.Close()
	return <-read
}

// workLooks is how often a program is looked at whose time is up.
const workLooks = 8

// stillRuns reports whether the program had a CPU, or waited for one, at all looks but one: a program
// that polls has one at some looks alone.
func (o *outcome) stillRuns() bool {
	running := 0
	for range workLooks {
		if o.process.Ended(tick) {
			return false
		}
		if o.process.Runnable() {
			running++
		}
	}
	return running >= workLooks-1
}

// read takes what comes until the end, or until the reader leaves, and returns when that was.
func (o *outcome) read(bound int64, hurry *atomic.Bool) time.Time {
	if o.reader == nil || o.leaves == leavesAtOnce {
		return o.begun
	}
	buf := make([]byte, 64<<10)
	for reading := time.Now(); ; {
		p := buf
		if o.slow && time.Since(reading) < slowTime && !hurry.Load() {
			time.Sleep(slowPause)
			p = buf[:slowBytes]
		}
		n, err := o.reader.Read(p)
		if n > 0 && o.total == 0 {
			o.first = time.Since(o.begun)
		}
		o.total += int64(n)
		if int64(len(o.out)) < bound+spill {
			o.out = append(o.out, p[:n]...)
		}
		if n > 0 && len(o.arrivals) < 10_000 {
			o.arrivals = append(o.arrivals, arrival{time.Since(o.begun), o.total})
		}
		if err != nil {
			return time.Now()
		}
		line := bytes.IndexByte(o.out, '\n') >= 0
		if o.leaves == leavesAfterLine && line || o.leaves == leavesMidway && o.total >= o.midway ||
			o.total > bound {
			o.reader.Close()
			return time.Now()
		}
	}
}

// watch looks at a program that has to wait, since its output is not read, or nothing comes. One
// that ran at every look, though nothing of it moved, spins; who is suspected of it is watched for
// longer.
func (o *outcome) watch(pipe *syspipe.End, d time.Duration) {
	p := o.process
	before := -1
	look := func(d time.Duration) (spins bool) {
		looks, running := 0, 0
		// as many looks on a busy machine, in more time
		for n := d / tick; n > 0 && !p.Ended(tick); n-- {
			waits := pipe == nil
			if pipe != nil {
				o.queued, _ = pipe.Buffered()
				waits = o.queued > 0 && o.queued == before
				before = o.queued
			}
			if waits {
				looks++
				if p.Runnable() {
					running++
				}
			}
		}
		return looks >= 6 && running*10 >= looks*9
	}
	if o.spins = look(d); !o.spins && p.Runnable() { // on a busy machine it may have begun but now
		o.spins = look(d)
	}
	if o.spins {
		cpu, known := p.CPU()
		now := cpu
		end := time.Now().Add(6 * d)
		for o.spins && known && now-cpu < spun && time.Now().Before(end) {
			o.spins = look(2 * d)
			now, _ = p.CPU()
		}
		o.spins = o.spins && now-cpu > tick
	}
	if pipe != nil {
		o.queued, _ = pipe.Buffered()
	}
	o.peak, _ = p.PeakMemory()
}

// conclude takes down how the program ended, and what it left.
func (o *outcome) conclude(f *finding, left time.Time) {
	now, p := time.Now(), o.process
	o.took, o.noticed = now.Sub(o.begun), now.Sub(left)
	if o.peak == 0 {
		o.peak, _ = p.PeakMemory()
	}
	if o.cpu, _ = p.CPU(); p.Ended(0) {
		o.end, o.code = fmt.Sprintf("exit %d", p.ExitCode()), p.ExitCode()
		if _, name, ok := proc.Signaled(p.Cmd.ProcessState); ok {
			o.end = name
		}
		if o.file != nil {
			for end := time.Now().Add(holdOn); time.Now().Before(end); time.Sleep(tick) {
				pids, unclear, _ := proc.Marked(f.mark)
				if o.left, o.holding = holders(pids, o.file.Name()); len(o.left) == 0 && !unclear {
					break
				}
			}
			if len(o.left) > 0 { // the next start is not to be blamed for them
				proc.EndMarked(f.mark, 0)
			}
		}
	}
	o.said, o.logs = p.Stderr().String(), p.Stderr().Total()
}

// holders returns the names of living processes, and of those among them that have the file of that
// path open; none where the system has no /proc.
func holders(pids []int, path string) (names, holding []string) {
	for _, pid := range pids {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err != nil {
			continue // it has ended
		}
		names = append(names, strings.TrimSpace(string(name)))
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, link := range links {
			if to, _ := os.Readlink(link); to == path {
				holding = append(holding, names[len(names)-1])
				break
			}
		}
	}
	return names, holding
}

// words are the last line of what the program said, to be quoted.
func (o *outcome) words() string { return lastLine(o.said) }

// lastLine returns the last line of a text, or the most that a sentence has room for.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if len(last) > 120 {
		last = strings.ToValidUTF8(last[:120], "") + "…"
	}
	return last
}

// pieces gives an input in pieces, with a pause before each.
type pieces struct {
	rest   []byte
	size   int
	pauses []time.Duration // the last is for all that follow
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

// size writes a number of bytes as sentences have it.
func size(n int64) string { return results.FormatGrouped(n) + " B" }
