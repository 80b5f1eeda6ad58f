package faults

import (
	"bufio"
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

// StartConversation starts a process to talk to. It is ended by Close, and when ctx ends.
func StartConversation(ctx context.Context, p *proc.Process) (*Conversation, error) {
	in, err := p.Pipe(0)
	if err != nil {
		return nil, err
	}
	out, err := p.Pipe(1)
	if err != nil {
		return nil, err
	}
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	c := &Conversation{In: in, Process: p, lines: make(chan string, 64)}
	go c.listen(out)
	return c, nil
}

// longestLine bounds what is held of a line, in bytes: a longer one ends the conversation.
const longestLine = 64 << 20

// listen passes lines on until the output ends. Text at the end without a newline is a line too.
func (c *Conversation) listen(out io.Reader) {
	defer close(c.lines)
	in := bufio.NewScanner(out)
	in.Buffer(nil, longestLine)
	for in.Scan() {
		line := strings.TrimRight(in.Text(), "\r")
		if line != "" {
			c.lines <- line // Await takes it, or Close does
		}
	}
	c.err = in.Err()
	if c.err == nil {
		c.err = io.EOF
	}
}

// Say writes text to the process.
func (c *Conversation) Say(text string) error {
	_, err := io.WriteString(c.In, text)
	return err
}

// Await waits for the first line that is wanted, at most d. The error is ErrLate when none came in
// time, io.EOF when the output ended first.
func (c *Conversation) Await(
	ctx context.Context, d time.Duration, wanted func(line string) bool,
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d, ErrLate)
	defer cancel()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return c.err
			}
			c.Longest = max(c.Longest, len(line))
			if wanted(line) {
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

// TransferBytes sends bytes through a real pipe to receive. If open is set the stream stays open: a
// read beyond the last byte fails with ErrStarved, so that nobody waits for ever. Else such a read
// meets the end of file.
func TransferBytes(sent []byte, open bool, receive func(io.Reader) error) error {
	send := func(w io.Writer) error {
		_, err := w.Write(sent)
		return err
	}
	if !open {
		return Transfer(send, receive)
	}
	return Transfer(send, func(r io.Reader) error {
		return receive(io.MultiReader(io.LimitReader(r, int64(len(sent))), starved{}))
	})
}

// A starved reader is what there is beyond the last byte that was sent.
type starved struct{}

func (starved) Read([]byte) (int, error) { return 0, ErrStarved }

// Transfer sends whatever send writes through a real pipe to receive. What the sender meets when
// the receiver leaves early is no error.
func Transfer(send func(io.Writer) error, receive func(io.Reader) error) error {
	w, r, err := OpenPipe(syspipe.Anonymous)
	if err != nil {
		return err
	}
	defer r.Close()
	defer w.Close()
	if err := PollEnds(w, r); err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() { sent <- errors.Join(send(w), w.Close()) }()
	received := receive(r)
	r.Close()
	failed := <-sent
	if received != nil {
		return received
	}
	if errors.Is(failed, syscall.EPIPE) {
		return nil
	}
	return failed
}

// giveUp is how long a write, or an answer, may take before it counts as stuck. Nothing else is
// going on: a side that can move does so at once.
const giveUp = 500 * time.Millisecond

// startTime is what a process of ours may take until it says that it is ready, on a busy machine
// too.
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
	e.Summary = fmt.Sprintf("%s each way: %s and %s accepted",
		Size(e.Size), Size(e.Accepted[0]), Size(e.Accepted[1]))
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

func runBothWriteFirst(ctx context.Context, r *recorder) error {
	for _, row := range []struct {
		part string
		args writeFirstArgs
	}{
		{"fits", writeFirstArgs{4 << 10, false}},
		{"exceeds", writeFirstArgs{1 << 20, false}},
		{"cure", writeFirstArgs{1 << 20, true}},
	} {
		err := r.try(row.part, func() (finding, error) { return exchange(ctx, row.args) })
		if err != nil {
			return err
		}
	}
	return nil
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
func exchange(ctx context.Context, args writeFirstArgs) (*Exchange, error) {
	e := &Exchange{
		Size:       args.Size,
		Concurrent: args.Concurrent,
		Pipe:       string(syspipe.Anonymous),
		GiveUpNS:   giveUp.Nanoseconds(),
	}
	w1, r1, err := OpenPipe(syspipe.Anonymous)
	if err != nil {
		return nil, err
	}
	defer r1.Close()
	defer w1.Close()
	w2, r2, err := OpenPipe(syspipe.Anonymous)
	if err != nil {
		return nil, err
	}
	defer r2.Close()
	defer w2.Close()
	e.Capacity, err = w1.Capacity()
	if err != nil {
		return nil, err
	}
	first, err := start(ctx, "faults/write-first", args, w1, r2)
	if err != nil {
		return nil, err
	}
	defer first.Close()
	second, err := start(ctx, "faults/write-first", args, w2, r1)
	if err != nil {
		return nil, err
	}
	defer second.Close()
	for i, side := range []*proc.Process{first, second} {
		if err := e.hear(i, side); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// hear waits for the report of side i, and takes its figures.
func (e *Exchange) hear(i int, side *proc.Process) error {
	var got writeFirstReport
	if err := side.Report(&got); err != nil {
		return err
	}
	if got.Error != "" {
		return errors.New(got.Error)
	}
	e.Accepted[i] = got.Accepted
	e.Received[i] = got.Received
	e.Stalled[i] = got.Stalled
	return nil
}

// writeFirst writes a message to its first end, then reads one from the second.
func writeFirst(w *proc.Work, args writeFirstArgs) error {
	if err := PollEnds(w.Ends...); err != nil {
		return err
	}
	out := w.Ends[0]
	in := w.Ends[1]
	if err := meet(out, in); err != nil {
		return err
	}
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
	r.Accepted = int64(n)
	r.Stalled = errors.Is(err, os.ErrClosed)
	if !r.Stalled {
		if !args.Concurrent {
			read()
		}
		r.Received = <-received
	}
	if err := w.Report(r); err != nil {
		return err
	}
	w.Linger() // the other side must not find a closed pipe in place of a full one
	return nil
}

// meet waits until the process at the other ends is there: one that starts slowly is no deadlock.
func meet(out io.Writer, in io.Reader) error {
	if _, err := out.Write([]byte{1}); err != nil {
		return err
	}
	_, err := in.Read(make([]byte, 1))
	return err
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
	log := "unread"
	if e.Drained {
		log = "read"
	}
	e.Summary = fmt.Sprintf("%d of %d requests answered, %s logged, log %s",
		e.Answered, e.Asked, Size(e.Logged), log)
	switch {
	case e.Answered == e.Asked:
		return Sound, advise("stderr-undrained, " + log)
	case e.Error != "":
		return Noticed, advise("stderr-undrained, " + log)
	}
	return Stuck, advise("stderr-undrained, stuck", e.Answered, e.Logged)
}

func runStderrUndrained(ctx context.Context, r *recorder) error {
	for _, row := range []struct {
		part     string
		logBytes int
		drained  bool
	}{
		{"logs-0", 0, false},
		{"logs-4096", 4 << 10, false},
		{"logs-65537", 64<<10 + 1, false},
		{"logs-65537-drained", 64<<10 + 1, true},
	} {
		err := r.try(row.part, func() (finding, error) {
			return askLogger(ctx, row.logBytes, row.drained)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// maxRequests are more than a pipe's worth of logs at 4 KiB each.
const maxRequests = 64

// askLogger asks a server until an answer fails to come.
func askLogger(ctx context.Context, logBytes int, drained bool) (*Logging, error) {
	p, err := proc.Self("faults/logger", logBytes)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	log, err := p.Pipe(2)
	if err != nil {
		return nil, err
	}
	c, err := StartConversation(ctx, p)
	if err != nil {
		return nil, err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		if drained {
			io.Copy(io.Discard, log)
		}
	}()
	defer func() {
		c.Close()
		<-read
	}()
	// A server that starts slowly is not stuck.
	isReady := func(line string) bool { return line == ready }
	if err := c.Await(ctx, startTime, isReady); err != nil {
		return nil, err
	}
	e := &Logging{LogBytes: logBytes, Drained: drained, GiveUpNS: giveUp.Nanoseconds()}
	e.ask(ctx, c)
	return e, nil
}

// ask sends requests until an answer fails to come, and counts.
func (e *Logging) ask(ctx context.Context, c *Conversation) {
	anyLine := func(string) bool { return true }
	for range maxRequests {
		e.Asked++
		err := c.Say("ask\n")
		if err == nil {
			err = c.Await(ctx, giveUp, anyLine)
		}
		if errors.Is(err, ErrLate) {
			return
		}
		if err != nil {
			e.Error = err.Error()
			return
		}
		e.Answered++
		e.Logged += int64(e.LogBytes)
	}
}

// logAndAnswer answers each line of standard input, and logs before it does.
func logAndAnswer(_ *proc.Work, logBytes int) error {
	log := make([]byte, logBytes)
	if _, err := fmt.Println(ready); err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if _, err := os.Stderr.Write(log); err != nil {
			return err
		}
		if _, err := fmt.Println("answer"); err != nil {
			return err
		}
	}
	return lines.Err()
}
