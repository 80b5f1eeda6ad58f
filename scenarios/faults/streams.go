package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// giveUp is how long a write, or an answer, may take before it counts as stuck. Nothing else is
// going on: a side that can move does so at once.
const giveUp = 500 * time.Millisecond

// Exchange is the evidence of both-write-first.
type Exchange struct {
	Summarised
	Size       int    `json:"size"`       // bytes each side sends
	Concurrent bool   `json:"concurrent"` // each side reads while it writes
	Pipe       string `json:"pipe"`
	Capacity   int    `json:"capacity"` // bytes a pipe holds

	Accepted [2]int64 `json:"accepted"` // bytes each side got rid of
	Received [2]int64 `json:"received"` // bytes each side read
	Stalled  [2]bool  `json:"stalled"`  // the side's write was still waiting when the deadline came
	GiveUpNS int64    `json:"give_up_ns"`
}

func (e *Exchange) judge() (Verdict, string) {
	e.Summary = fmt.Sprintf("%s each way: %s and %s accepted", Size(e.Size), Size(e.Accepted[0]), Size(e.Accepted[1]))
	verdict := Sound
	switch {
	case e.Stalled[0] || e.Stalled[1]:
		e.Summary += fmt.Sprintf(", then nothing for %s", time.Duration(e.GiveUpNS))
		return Stuck, fmt.Sprintf("Each side got rid of %d and %d bytes and then waited for the other to read. Nothing ends this but a deadline. "+
			"Read on a thread (or task) of its own, always; put a deadline on writes as well as on replies.", e.Accepted[0], e.Accepted[1])
	case e.Received != [2]int64{int64(e.Size), int64(e.Size)}:
		verdict = Noticed
	}
	if e.Concurrent {
		return verdict, "With a reader at work on either side the same messages pass, whatever their size."
	}
	return verdict, "This size fits the pipe, so nobody had to wait. It is luck, not a protocol: a longer message, or two, hang."
}

func runBothWriteFirst(ctx context.Context, r *recorder) {
	r.try("fits", func() finding { return exchange(ctx, writeFirstArgs{4 << 10, false}) })
	r.try("exceeds", func() finding { return exchange(ctx, writeFirstArgs{1 << 20, false}) })
	r.try("cure", func() finding { return exchange(ctx, writeFirstArgs{1 << 20, true}) })
}

type writeFirstArgs struct {
	Size       int
	Concurrent bool
}

type writeFirstReport struct {
	Accepted, Received int64
	Stalled            bool
	Error              string
}

// exchange has two processes send each other a message of size bytes.
func exchange(ctx context.Context, args writeFirstArgs) *Exchange {
	e := &Exchange{Size: args.Size, Concurrent: args.Concurrent, Pipe: string(syspipe.Anonymous), GiveUpNS: giveUp.Nanoseconds()}
	w1, r1, closeThere := Open(syspipe.Anonymous)
	defer closeThere()
	w2, r2, closeBack := Open(syspipe.Anonymous)
	defer closeBack()
	e.Capacity = script.Must(w1.Capacity())
	var sides [2]*proc.Process
	for i, ends := range [2][2]*syspipe.End{{w1, r2}, {w2, r1}} {
		p := start(ctx, "faults/write-first", args, ends[0], ends[1])
		defer p.Close()
		sides[i] = p
	}
	for i, p := range sides {
		var got writeFirstReport
		script.Check(p.Report(&got))
		if got.Error != "" {
			script.Check(errors.New(got.Error))
		}
		e.Accepted[i], e.Received[i], e.Stalled[i] = got.Accepted, got.Received, got.Stalled
	}
	return e
}

// writeFirst writes a message to its first end, then reads one from the second.
func writeFirst(w *proc.Work, args writeFirstArgs) {
	UsePoller(w.Ends...)
	out, in := w.Ends[0], w.Ends[1]
	script.Must(out.Write([]byte{1})) // both are there: one that starts slowly is no deadlock
	script.Must(in.Read(make([]byte, 1)))
	var r writeFirstReport
	received := make(chan int64, 1)
	read := func() {
		n, err := io.CopyN(io.Discard, in, int64(args.Size))
		r.Error = ErrorText(err)
		received <- n
	}
	if args.Concurrent {
		go read()
	}
	timer := time.AfterFunc(giveUp, func() { out.Close() })
	n, err := out.Write(make([]byte, args.Size))
	timer.Stop()
	r.Accepted, r.Stalled = int64(n), errors.Is(err, os.ErrClosed)
	if !r.Stalled {
		if !args.Concurrent {
			read()
		}
		r.Received = <-received
	}
	script.Check(w.Report(r))
	w.Linger() // the other side must not find a closed pipe in place of a full one
}

// Logging is the evidence of stderr-undrained.
type Logging struct {
	Summarised
	LogBytes int    `json:"log_bytes"` // written to standard error per request
	Drained  bool   `json:"drained"`   // the client reads standard error
	Asked    int    `json:"asked"`     // requests sent
	Answered int    `json:"answered"`
	Logged   int64  `json:"logged"` // bytes of standard error when the last answer came
	GiveUpNS int64  `json:"give_up_ns"`
	Error    string `json:"error,omitempty"`
}

func (e *Logging) judge() (Verdict, string) {
	log, advice := "unread", "The log fitted the pipe for as long as this run lasted. It will not for ever."
	if e.Drained {
		log, advice = "read", "With standard error read the same server answers all requests."
	}
	e.Summary = fmt.Sprintf("%d of %d requests answered, %s logged, log %s", e.Answered, e.Asked, Size(e.Logged), log)
	switch {
	case e.Answered == e.Asked:
		return Sound, advice
	case e.Error != "":
		return Noticed, advice
	}
	return Stuck, fmt.Sprintf("The server stopped answering after %d requests, with %d bytes of log in the pipe: it waits in a write to standard error, "+
		"and from outside looks as if it had hung in its work. Whoever starts a server reads its standard error to the end, or gives it a file or /dev/null.", e.Answered, e.Logged)
}

func runStderrUndrained(ctx context.Context, r *recorder) {
	for _, logBytes := range []int{0, 4 << 10, 64<<10 + 1} {
		r.try(fmt.Sprintf("logs-%d", logBytes), func() finding { return askLogger(ctx, logBytes, false) })
	}
	r.try("logs-65537-drained", func() finding { return askLogger(ctx, 64<<10+1, true) })
}

// maxRequests are more than a pipe's worth of logs at 4 KiB each.
const maxRequests = 64

// askLogger asks a server until an answer fails to come.
func askLogger(ctx context.Context, logBytes int, drained bool) *Logging {
	e := &Logging{LogBytes: logBytes, Drained: drained, GiveUpNS: giveUp.Nanoseconds()}
	p := script.Must(proc.Self("faults/logger", logBytes))
	defer p.Close()
	log := script.Must(p.Pipe(2))
	defer log.Close()
	c := Converse(ctx, p)
	read := make(chan struct{})
	go func() {
		defer close(read)
		if drained {
			io.Copy(io.Discard, log)
		}
	}()
	defer func() { c.Close(); <-read }()
	for range maxRequests {
		e.Asked++
		err := c.Say("ask\n")
		if err == nil {
			err = c.Await(ctx, giveUp, func(string) bool { return true })
		}
		if err != nil {
			if !errors.Is(err, ErrLate) {
				e.Error = err.Error()
			}
			return e
		}
		e.Answered++
		e.Logged += int64(logBytes)
	}
	return e
}

// logAndAnswer answers each line of standard input, and logs before it does.
func logAndAnswer(_ *proc.Work, logBytes int) {
	log := make([]byte, logBytes)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		script.Must(os.Stderr.Write(log))
		script.Must(fmt.Println("answer"))
	}
	script.Check(lines.Err())
}

// Output is the evidence of exit-before-drain and nonblocking-stdout: what of a program's output
// arrived.
type Output struct {
	Summarised
	Program     string `json:"program"`
	Pipe        string `json:"pipe"`
	NonBlocking bool   `json:"non_blocking"` // standard output was non-blocking when the program started
	Late        bool   `json:"late"`         // nothing was read before the program had exited
	Sent        int64  `json:"sent"`         // bytes the program meant to write
	Delivered   int64  `json:"delivered"`    // bytes that could be read
	ExitCode    int    `json:"exit_code"`    // -1: killed by a signal
	Stderr      string `json:"stderr,omitempty"`
}

func (e *Output) verdict() Verdict {
	e.Summary = fmt.Sprintf("%s of %s arrived, exit code %d", Size(e.Delivered), Size(e.Sent), e.ExitCode)
	switch {
	case e.Delivered >= e.Sent:
		return Sound
	case e.ExitCode == 0:
		return SilentLoss
	}
	return Noticed
}

// A queuedOutput is that of a program which exits while its output waits in its own queue.
type queuedOutput struct{ *Output }

func (e queuedOutput) judge() (Verdict, string) {
	if e.verdict() == Sound {
		return Sound, "All of it arrived: the program let its output drain before it exited, or its writes waited."
	}
	return e.verdict(), fmt.Sprintf("%d of %d bytes arrived and the exit code is %d: what was in the program's own queue died with it. "+
		"Exit by returning from the event loop, or when the stream says that it has drained; and let the reader treat a stream "+
		"that ends inside a message as an error.", e.Delivered, e.Sent, e.ExitCode)
}

// A nonBlockingOutput is that of a program whose standard output is non-blocking.
type nonBlockingOutput struct{ *Output }

func (e nonBlockingOutput) judge() (Verdict, string) {
	switch e.verdict() {
	case Sound:
		return Sound, "All of it arrived: the pipe was blocking, or the program tried again until the count was complete."
	case Noticed:
		return Noticed, "The program failed where the pipe had no room for the moment. EAGAIN is no failure: wait until the pipe is writable and go on at the byte where it stopped."
	}
	return SilentLoss, fmt.Sprintf("%d of %d bytes arrived, and the program exited with 0. Give children a blocking standard output: open its pipe for "+
		"them alone, and leave O_NONBLOCK off the end they get. In a program that cannot choose, look at the count of every write.", e.Delivered, e.Sent)
}

// outputBytes is what a program means to write: more than any pipe holds.
const outputBytes = 1 << 20

func runExitBeforeDrain(ctx context.Context, r *recorder) {
	for _, kind := range []syspipe.Kind{syspipe.Anonymous, syspipe.SocketPair} {
		if err := setSupported(kind); err != nil {
			r.unsupported(string(kind), err)
			continue
		}
		try := func(part, program string, start func() *proc.Process) {
			r.try(string(kind)+"/"+part, func() finding {
				return queuedOutput{collect(ctx, Output{Program: program, Pipe: string(kind), Late: true}, start)}
			})
		}
		try("exits", "exits at once", func() *proc.Process { return script.Must(proc.Self("faults/queued-exit", false)) })
		try("waits", "waits for its output", func() *proc.Process { return script.Must(proc.Self("faults/queued-exit", true)) })
		if path, err := exec.LookPath("node"); err == nil { // else this program has shown the same
			try("node", "node process.exit", func() *proc.Process {
				return proc.Command(path, "-e", fmt.Sprintf("process.stdout.write('x'.repeat(%d)); process.exit(0)", outputBytes))
			})
		}
	}
}

func runNonBlockingStdout(ctx context.Context, r *recorder) {
	if err := setSupported(syspipe.Anonymous); err != nil {
		r.unsupported("", err)
		return
	}
	try := func(part string, e Output, start func() *proc.Process) {
		e.Pipe = string(syspipe.Anonymous)
		r.try(part, func() finding { return nonBlockingOutput{collect(ctx, e, start)} })
	}
	writeOnce := func(e Output, looksAtCount bool) {
		try(e.Program, e, func() *proc.Process { return script.Must(proc.Self("faults/one-write", looksAtCount)) })
	}
	writeOnce(Output{Program: "blocking"}, false)
	writeOnce(Output{Program: "ignores-short-writes", NonBlocking: true, Late: true}, false)
	writeOnce(Output{Program: "retries", NonBlocking: true}, true)
	if path, err := exec.LookPath("python3"); err == nil { // else this program has shown the same
		try("python3", Output{Program: "python3 print", NonBlocking: true, Late: true}, func() *proc.Process {
			return proc.Command(path, "-c", fmt.Sprintf("print('x'*%d, end='')", outputBytes))
		})
	}
}

// setSupported tells whether a kind of pipe can be a child's standard output in any mode.
func setSupported(kind syspipe.Kind) error {
	return errors.Join(kind.Supported(), syspipe.Poll.Supported())
}

// patience is how long a late reader waits for a program to exit.
var patience = time.Second

// collect runs a program with one end of a pipe as its standard output. A late reader begins when
// the program has exited, or after patience, since a program that waits for room never exits by
// itself.
func collect(ctx context.Context, e Output, ready func() *proc.Process) *Output {
	e.Sent = outputBytes
	w, r, closeBoth := Open(syspipe.Kind(e.Pipe))
	defer closeBoth()
	if e.NonBlocking {
		script.Check(w.SetIO(syspipe.Poll))
	}
	script.Check(r.SetIO(syspipe.Poller))
	p := ready()
	defer p.Close()
	p.Stderr().Limit = 500 // bytes, of evidence
	script.Check(stdoutTo(p.Cmd, w))
	script.Check(p.Start(ctx))
	w.Close()
	if e.Late {
		e.Late = p.Ended(patience)
	}
	e.Delivered = script.Must(io.Copy(io.Discard, r))
	awaitExit(p)
	e.ExitCode = p.Cmd.ProcessState.ExitCode()
	e.Stderr = p.Stderr().String()
	return &e
}

// exitWithQueue writes what fits, and exits with or without the rest.
func exitWithQueue(_ *proc.Work, drains bool) {
	script.Check(setStdoutBlocking(false))
	queue := make([]byte, outputBytes)
	for len(queue) > 0 {
		n, refused, err := writeStdoutOnce(queue)
		script.Check(err)
		if refused && !drains {
			return
		}
		if refused {
			script.Check(setStdoutBlocking(true))
		}
		queue = queue[n:]
	}
}

// writeStdout writes with one call, and looks at the count or does not.
func writeStdout(_ *proc.Work, looks bool) {
	for p := make([]byte, outputBytes); len(p) > 0; {
		n, _, err := writeStdoutOnce(p)
		script.Check(err)
		if !looks {
			return
		}
		script.Check(setStdoutBlocking(true))
		p = p[n:]
	}
}
