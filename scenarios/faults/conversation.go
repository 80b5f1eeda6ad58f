package faults

import (
	"bufio"
	"cmp"
	"context"
	"errors"
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
			select {
			case c.lines <- line:
			default: // nobody listens to that much
			}
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
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return c.err
			}
			if c.Longest = max(c.Longest, len(line)); wanted(line) {
				return nil
			}
		case <-timer.C:
			return ErrLate
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
	}, func(r io.Reader) { receive(&patientReader{r: r, left: len(sent), open: open}) })
}

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

// A patientReader knows how much was sent.
type patientReader struct {
	r    io.Reader
	left int
	open bool
}

func (p *patientReader) Read(b []byte) (int, error) {
	if p.left == 0 && p.open {
		return 0, ErrStarved
	}
	n, err := p.r.Read(b)
	p.left -= n
	return n, err
}
