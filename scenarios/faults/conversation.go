package faults

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

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

// giveUp is how long a write, or an answer, may take before it counts as stuck. Nothing else is
// going on: a side that can move does so at once.
const giveUp = 500 * time.Millisecond

// startTime is what a process of ours may take until it says that it is ready, on a busy machine
// too.
const startTime = 30 * time.Second

// ready is what it says.
const ready = "ready"
