// Package child starts a program and holds a conversation with it over its standard streams, in any
// framing. It is for pipebench's scenarios alone.
//
//	c, err := child.Start(ctx, proc.Command("my-server"), framers.NDJSON(), child.Options{})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	err = c.Send(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
//	...
//	answer, err := c.Next(ctx)
//
// One goroutine reads, from the start to the end, so that the program never waits for us to read.
// No message is dropped: each waits for [Conn.Next]. When more than 64 MiB wait, reading stops
// until some were taken.
//
// Deadlines are contexts. [Conn.Patient] makes one that ends when the program has neither taken,
// sent nor computed anything for a while.
//
// Send, Close and the counters are for any goroutine, Next and Expect for one at a time.
package child

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Why there is no message, or a message could not be sent.
var (
	ErrSilent   = errors.New("no answer in time")
	ErrNotTaken = errors.New("the server does not take what is sent")
	ErrLeft     = errors.New("the server closed its output")
	ErrEndless  = errors.New("no message end")
)

// Options say how a program is connected and read. The zero Options mean usual anonymous pipes.
type Options struct {
	MaxMessage int // bytes of a message from the program; 0 is 256 MiB

	Pipe      syspipe.Kind // of standard input and output; "" is anonymous
	Capacity  int          // bytes of each of the two; 0 is the system's
	NonBlock  bool         // the program gets its output in non-blocking mode
	Undrained bool         // nobody reads standard error
	Stderr    io.Writer    // also gets standard error, if set; its writes must not fail

	WriteChunk int // bytes per write; 0 is a whole message

	Held bool // nothing is read until Out.Resume is called

	// Respond makes the answer to a request of the program's own, or returns nil to leave the
	// request to Next. The reading goroutine calls it. Another goroutine sends the answer, because
	// the program may not read before we have read more. If Respond is nil, Next gets all requests.
	Respond func(Message) []byte

	// Divert gets every message before Respond and Next, and keeps it by returning true. The
	// reading goroutine calls it; the message is valid during the call.
	Divert  func(Message) bool
	Reading []framers.Option // further options of the framing's reader

	// Watch, if set, is called when the conversation begins, and makes its watcher.
	Watch func() Watcher
}

// A Watcher sees both sides of one conversation, and changes nothing of it. Several goroutines call
// it. Messages are valid during the call.
type Watcher interface {
	Sent(msg []byte) // called before Send writes the message
	Heard(Message)   // called before Divert, Respond and Next get the message
}

// A Message is what the program sent: a message, or a frame that could not be read.
type Message struct {
	Raw      []byte           // of a frame that could not be read, its beginning
	Envelope jsonrpc.Envelope // from a scan of Raw; its Kind is None if Raw is no JSON-RPC
	At       time.Time        // when all of it had come
	Err      error            // why the frame could not be read; nil if it could
	// InChunks says that the message came in chunks (see LinesOrChunks). It is false if
	// Options.Reading has a WithProgress.
	InChunks bool
}

// A Conn is a conversation with one program.
type Conn struct {
	Process *proc.Process // nil for a conversation that Over holds

	In, Out Stream // our ends of its standard input and output, counted
	stderr  *syspipe.End
	said    proc.Tail     // the end of standard error
	drained chan struct{} // closed when nobody reads standard error any more

	framing framers.Framing
	sending chan struct{} // holds an element while a message is written
	writer  framers.Writer
	batch   *bufio.Writer  // gathers messages that are written together; nil before the first
	batched framers.Writer // writes into batch

	read    atomic.Int64 // bytes of output up to the end of the last complete message
	limit   atomic.Int64 // set by SetMaxMessage; 0 before its first call
	divert  func(Message) bool
	respond func(Message) []byte
	watcher Watcher // nil for none
	replies inbox   // to the program's own requests
	replied sync.WaitGroup

	inbox   inbox
	closed  chan struct{} // closed when nothing more is read
	readErr error         // why nothing more is read; valid after closed is closed

	// lastChunk says that the last chunk of a message has come. The goroutine that reads uses it.
	lastChunk bool
}

const (
	defaultMaxMessage = 256 << 20
	tailBytes         = 8 << 10 // of standard error
)

// Start starts a program and begins to read what it says. The program is killed when ctx ends. If
// Start fails, nothing is left of the program.
func Start(ctx context.Context, p *proc.Process, f framers.Framing, o Options) (*Conn, error) {
	if o.Pipe == "" {
		o.Pipe = syspipe.Anonymous
	}
	in, err := p.Connect(0, o.Pipe, o.Capacity, false /* non-blocking */)
	if err != nil {
		return nil, err
	}
	out, err := p.Connect(1, o.Pipe, o.Capacity, o.NonBlock)
	if err != nil {
		return nil, err
	}
	stderr, err := p.Connect(
		2, syspipe.Anonymous, 0 /* default capacity */, false /* non-blocking */)
	if err != nil {
		return nil, err
	}
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	c := &Conn{Process: p, stderr: stderr}
	c.begin(out, in, f, o)
	go c.drainStderr(o)
	return c, nil
}

// Over holds a conversation over streams that exist already.
func Over(r io.ReadCloser, w io.WriteCloser, f framers.Framing, o Options) *Conn {
	c := &Conn{}
	c.begin(r, w, f, o)
	close(c.drained)
	return c
}

// begin sets the conversation up and starts to read.
func (c *Conn) begin(r io.ReadCloser, w io.WriteCloser, f framers.Framing, o Options) {
	if o.MaxMessage <= 0 {
		o.MaxMessage = defaultMaxMessage
	}
	c.In.w = w
	c.In.chunk = o.WriteChunk
	c.Out.r = r
	if o.Held {
		c.Out.Hold()
	}
	c.said.Limit = tailBytes
	c.framing = f
	c.respond = o.Respond
	if o.Watch != nil {
		c.watcher = o.Watch()
	}
	c.closed = make(chan struct{})
	c.drained = make(chan struct{})
	c.inbox.init()
	c.replies.init()
	c.divert = o.Divert
	c.sending = make(chan struct{}, 1)
	c.writer = f.NewWriter(c.In.frameWriter(), framers.WithMaxMessage(unlimited),
		framers.WithVerbatim(), framers.WithWriteSize(maxWrite))
	reading := []framers.Option{framers.WithMaxMessage(o.MaxMessage), framers.WithVerbatim()}
	if _, mixed := f.(linesOrChunks); mixed {
		reading = append(reading, framers.WithProgress(func(chunk framers.Chunk) {
			c.lastChunk = chunk.Received == chunk.Total
		}))
	}
	go c.readAll(f.NewReader(limited{c}, append(reading, o.Reading...)...))
	if c.respond != nil {
		c.replied.Go(c.sendReplies)
	}
}

// drainStderr reads standard error until it ends, unless o says that nobody does.
func (c *Conn) drainStderr(o Options) {
	defer close(c.drained)
	to := io.Writer(&c.said)
	if o.Stderr != nil {
		to = io.MultiWriter(to, o.Stderr)
	}
	if !o.Undrained {
		io.Copy(to, c.stderr)
	}
}

// Stderr returns the end of what the program wrote to standard error.
func (c *Conn) Stderr() *proc.Tail { return &c.said }

// StderrUnread returns how many bytes wait in standard error; false if the system does not tell.
func (c *Conn) StderrUnread() (int, bool) {
	if c.stderr == nil {
		return 0, false
	}
	n, err := c.stderr.Buffered()
	return n, err == nil
}

// Framing returns the framing of both directions.
func (c *Conn) Framing() framers.Framing { return c.framing }

// Closed returns a channel that is closed when nothing more is read of the program's output.
func (c *Conn) Closed() <-chan struct{} { return c.closed }

// Drained returns a channel that is closed when standard error has ended.
func (c *Conn) Drained() <-chan struct{} { return c.drained }

// Partial returns how many bytes have come of a message that is not complete yet.
func (c *Conn) Partial() int64 { return c.Out.Bytes() - c.read.Load() }

// SetMaxMessage lowers the limit on the size of a message to n bytes. The new limit also holds for
// a message that has come in part.
func (c *Conn) SetMaxMessage(n int) { c.limit.Store(int64(n)) }

// CloseInput ends the program's standard input.
func (c *Conn) CloseInput() error { return c.In.w.Close() }

// CloseOutput closes our end of the program's standard output, as a reader does when it leaves.
func (c *Conn) CloseOutput() error { return c.Out.r.Close() }

// Left reports whether the program has closed its output and ended. If it has closed its output,
// Left waits for its end as [Conn.Ended] does.
func (c *Conn) Left(d time.Duration) bool {
	select {
	case <-c.closed:
		return c.Process == nil || c.Ended(d)
	default:
		return false
	}
}

// Ended reports whether the program has ended, and waits for its end at most d, or up to half a
// minute while the program waits for a CPU: on a busy machine the end may take seconds.
func (c *Conn) Ended(d time.Duration) bool {
	began := time.Now()
	for !c.Process.Ended(d) {
		if !c.Process.Runnable() || time.Since(began) > 30*time.Second {
			return c.Process.Ended(0)
		}
	}
	return true
}

// leaveTime bounds the wait of Close for the end of a killed program's standard error, because a
// process that has left the program's group may hold it open.
const leaveTime = time.Second

// Close ends the program and everything in its group, and returns when nothing is read any more.
func (c *Conn) Close() {
	c.Out.Resume()
	c.inbox.close()
	c.replies.close()
	c.In.w.Close()
	if c.Process != nil {
		c.Process.Kill()
		<-c.Process.Done()
		Within(c.drained, leaveTime)
		c.Process.Close()
	}
	c.Out.r.Close()
	<-c.drained
	<-c.closed
	c.replied.Wait()
}

// Within waits at most d for a channel to be closed, and reports whether it was.
func Within(ch <-chan struct{}, d time.Duration) bool {
	select {
	case <-ch:
		return true
	case <-time.After(d):
	}
	select { // if both happened, the first select may have seen the timer
	case <-ch:
		return true
	default:
		return false
	}
}
