package faults

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// A Conversation is with a process that is spoken to over its standard streams, line by line. It
// belongs to one goroutine.
type Conversation struct {
	In      *os.File // the process's standard input
	Longest int      // bytes of the longest line that Await has seen

	*proc.Process
	lines chan string // closed at the end of its output
	err   error       // why there are no more; to be read once lines is closed
}

// ErrLate is returned when what was awaited did not come in time.
var ErrLate = errors.New("no answer in time")

// Converse starts a process to talk to. It is ended by Close, and when ctx ends.
func Converse(ctx context.Context, p *proc.Process) *Conversation {
	in, out := script.Must(p.Pipe(0)), script.Must(p.Pipe(1))
	script.Check(p.Start(ctx))
	c := &Conversation{In: in, Process: p, lines: make(chan string, 64)}
	go c.listen(out)
	return c
}

// longestLine bounds what is held of a line, in bytes: a longer one ends the conversation.
const longestLine = 64 << 20

// listen passes lines on until the output ends. Text at the end without a newline is a line too.
func (c *Conversation) listen(out io.Reader) {
	defer close(c.lines)
	in := bufio.NewScanner(out)
	in.Buffer(nil, longestLine)
	for in.Scan() {
		if line := strings.TrimRight(in.Text(), "\r"); line != "" {
			c.lines <- line // Await takes it, or Close does
		}
	}
	c.err = cmp.Or(in.Err(), io.EOF)
}

// Say writes text to the process.
func (c *Conversation) Say(text string) error {
	_, err := io.WriteString(c.In, text)
	return err
}

// Await waits for the first line that is wanted, at most d. The error is ErrLate when none came in
// time, io.EOF when the output ended first.
func (c *Conversation) Await(ctx context.Context, d time.Duration, wanted func(line string) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d, ErrLate)
	defer cancel()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return c.err
			}
			if c.Longest = max(c.Longest, len(line)); wanted(line) {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close ends the process and returns when it is gone.
func (c *Conversation) Close() {
	c.In.Close()
	c.Process.Close()
	for range c.lines {
	}
}

// ErrStarved is what a reader gets that asks for more than was ever sent: on a stream that stays
// open it would wait for ever.
var ErrStarved = errors.New("waits for bytes that nobody sends")

// Deliver sends bytes through a real pipe to receive. Where the stream stays open, a read beyond
// the last byte fails with ErrStarved in place of waiting; else it meets the end of file.
func Deliver(sent []byte, open bool, receive func(io.Reader)) {
	Through(func(w io.Writer) error {
		_, err := w.Write(sent)
		return err
	}, func(r io.Reader) {
		if open {
			r = io.MultiReader(io.LimitReader(r, int64(len(sent))), starved{})
		}
		receive(r)
	})
}

// A starved reader is what there is beyond the last byte that was sent.
type starved struct{}

func (starved) Read([]byte) (int, error) { return 0, ErrStarved }

// Through sends whatever send writes through a real pipe to receive. What the sender meets when the
// receiver leaves early is no error.
func Through(send func(io.Writer) error, receive func(io.Reader)) {
	w, r, closeBoth := Open(syspipe.Anonymous)
	defer closeBoth()
	UsePoller(w, r)
	sent := make(chan error, 1)
	go func() { sent <- errors.Join(send(w), w.Close()) }()
	err := script.Run(func() { receive(r) })
	r.Close()
	if failed := <-sent; err == nil && !errors.Is(failed, syscall.EPIPE) {
		err = failed
	}
	script.Check(err)
}

// giveUp is how long a write, or an answer, may take before it counts as stuck. Nothing else is
// going on: a side that can move does so at once.
const giveUp = 500 * time.Millisecond

// startTime is what a process of ours may take until it says that it is ready, on a busy machine too.
const startTime = 30 * time.Second

// ready is what it says.
const ready = "ready"

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
		return Stuck, advise("both-write-first, stuck", e.Accepted[0], e.Accepted[1])
	case e.Received != [2]int64{int64(e.Size), int64(e.Size)}:
		verdict = Noticed
	}
	if e.Concurrent {
		return verdict, advise("both-write-first, read meanwhile")
	}
	return verdict, advise("both-write-first, fitted")
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
	log := map[bool]string{true: "read", false: "unread"}[e.Drained]
	e.Summary = fmt.Sprintf("%d of %d requests answered, %s logged, log %s", e.Answered, e.Asked, Size(e.Logged), log)
	switch {
	case e.Answered == e.Asked:
		return Sound, advise("stderr-undrained, " + log)
	case e.Error != "":
		return Noticed, advise("stderr-undrained, " + log)
	}
	return Stuck, advise("stderr-undrained, stuck", e.Answered, e.Logged)
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
	c := Converse(ctx, p)
	read := make(chan struct{})
	go func() {
		defer close(read)
		if drained {
			io.Copy(io.Discard, log)
		}
	}()
	defer func() { c.Close(); <-read }()
	script.Check(c.Await(ctx, startTime, func(line string) bool { return line == ready })) // one that starts slowly is not stuck
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
	script.Must(fmt.Println(ready))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		script.Must(os.Stderr.Write(log))
		script.Must(fmt.Println("answer"))
	}
	script.Check(lines.Err())
}
