// Package child starts a program and talks to it over its standard streams, in any framing.
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
// The program's output is read all the time. Up to 64 MiB of messages wait for [Conn.Next]; then
// reading pauses. A deadline is given as a context. [Conn.Patient] makes a context that ends when
// the program does nothing any more.
//
// Any goroutine may call Send, Close, and the methods that count, such as [Stream.Bytes]. Only one
// goroutine at a time may call Next or Expect.
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

// Errors of receiving and sending.
var (
	ErrSilent   = errors.New("no answer in time")
	ErrNotTaken = errors.New("the server does not take what is sent")
	ErrLeft     = errors.New("the server closed its output")
	ErrEndless  = errors.New("no message end")
)

// Options say how a program is connected, and how its output is read. The zero Options mean
// ordinary pipes.
type Options struct {
	MaxMessage int // most bytes of a message from the program; 0 means 256 MiB

	Pipe      syspipe.Kind // kind of standard input and output; "" means anonymous pipes
	Capacity  int          // bytes that each of these pipes can hold; 0 means the default
	NonBlock  bool         // the program's end of its output pipe is non-blocking
	Undrained bool         // nobody reads standard error
	Stderr    io.Writer    // if set, gets a copy of standard error; its Write must not fail

	WriteChunk int // bytes per write; 0 means as many as possible, up to 128 KiB

	Held bool // the output is not read until Out.Resume is called

	// Respond, if set, returns the answer to a request from the program, or nil to leave the
	// request to [Conn.Next]. Nothing more is read during the call.
	Respond func(Message) []byte

	// Divert, if set, gets each message first. If it returns true, Respond and [Conn.Next] do not
	// get the message. Nothing more is read during the call, and the message is valid only during
	// the call.
	Divert  func(Message) bool
	Reading []framers.Option // further options for the framing's reader

	// Watch, if set, returns the Watcher of the conversation.
	Watch func() Watcher
}

// A Watcher sees the messages in both directions. Several goroutines may call it at once, and a
// message is valid only during the call.
type Watcher interface {
	Sent(msg []byte) // called before Send writes the message
	Heard(Message)   // called before Divert, Respond and Next get the message
}

// A Message is what the program sent: a message, or a frame that could not be read.
type Message struct {
	Raw      []byte           // the message; if Err is set, the beginning of the frame
	Envelope jsonrpc.Envelope // what [jsonrpc.Scan] found; the Kind is None if Raw is not JSON-RPC
	At       time.Time        // when all of the message had come
	Err      error            // why the frame could not be read; nil if it was read
	// InChunks says that the message came as frames of the chunked framing. It is always false if
	// Options.Reading contains [framers.WithProgress].
	InChunks bool
}

// A Conn is a conversation with one program.
type Conn struct {
	Process *proc.Process // nil if the Conn was made by Over

	In, Out Stream    // our ends of its standard input and output
	Stderr  proc.Tail // the last part of what the program wrote to standard error
	stderr  *syspipe.End
	drained chan struct{} // closed when nobody reads standard error any more

	Framing framers.Framing // of both directions
	sending chan struct{}   // has an element while a message is being written
	writer  framers.Writer
	batch   *bufio.Writer  // gathers the messages of a Batch; nil before the first Batch
	batched framers.Writer // writes into batch
	reader  framers.Reader // of the program's output
	// pending is nil if nothing has come of the next message.
	pending atomic.Pointer[framers.Pending]

	bare     atomic.Int64 // headers of the output that had a line that ended with LF alone
	read     atomic.Int64 // bytes of output up to the end of the last complete message
	limit    atomic.Int64 // set by SetMaxMessage; 0 before its first call
	options  Options
	watcher  Watcher        // nil for none
	replies  inbox          // our answers to the program's requests, until they are sent
	replying sync.WaitGroup // done when sendReplies has returned

	inbox   inbox         // the messages for Next
	closed  chan struct{} // closed when nothing more is read
	readErr error         // why nothing more is read; valid after closed is closed

	// lastChunk says that the last chunk of the current message has come.
	lastChunk bool
}

const (
	defaultMaxMessage = 256 << 20
	tailBytes         = 8 << 10 // how much of standard error is kept
)

// Start starts a program and begins to read its output. The program is killed when ctx ends.
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
	c := &Conn{Process: p, stderr: stderr, Framing: f, options: o}
	c.begin(out, in)
	go c.drainStderr()
	return c, nil
}

// Over begins a conversation over streams that are open already: it reads from r and writes to w.
func Over(r io.ReadCloser, w io.WriteCloser, f framers.Framing, o Options) *Conn {
	c := &Conn{stderr: &syspipe.End{}, Framing: f, options: o}
	c.begin(r, w)
	close(c.drained)
	return c
}

func (c *Conn) begin(r io.ReadCloser, w io.WriteCloser) {
	o := &c.options
	if o.MaxMessage <= 0 {
		o.MaxMessage = defaultMaxMessage
	}
	c.In.w = w
	c.In.chunk = o.WriteChunk
	c.Out.r = r
	if o.Held {
		c.Out.Hold()
	}
	c.Stderr.Limit = tailBytes
	if o.Watch != nil {
		c.watcher = o.Watch()
	}
	c.closed = make(chan struct{})
	c.drained = make(chan struct{})
	c.inbox.init()
	c.replies.init()
	c.sending = make(chan struct{}, 1)
	c.writer = c.Framing.NewWriter(c.In.frameWriter(), framers.WithMaxMessage(unlimited),
		framers.WithVerbatim(), framers.WithWriteSize(maxWrite))
	reading := []framers.Option{framers.WithMaxMessage(o.MaxMessage), framers.WithVerbatim()}
	if _, mixed := c.Framing.(linesOrChunks); mixed {
		reading = append(reading, framers.WithProgress(func(chunk framers.Chunk) {
			c.lastChunk = chunk.Received == chunk.Total
		}))
	}
	c.reader = c.Framing.NewReader(limited{c}, append(reading, o.Reading...)...)
	go c.readAll()
	if o.Respond != nil {
		c.replying.Go(c.sendReplies)
	}
}

// drainStderr reads standard error until it ends, or not at all if Options.Undrained is set. Then
// it closes c.drained.
func (c *Conn) drainStderr() {
	defer close(c.drained)
	to := io.Writer(&c.Stderr)
	if c.options.Stderr != nil {
		to = io.MultiWriter(to, c.options.Stderr)
	}
	if !c.options.Undrained {
		io.Copy(to, c.stderr)
	}
}

// StderrUnread returns how many bytes wait in the pipe of standard error. The second result is
// false if this is not known.
func (c *Conn) StderrUnread() (int, bool) {
	n, err := c.stderr.Buffered()
	return n, err == nil
}

// Closed returns a channel that is closed when the program's output has ended or cannot be read.
func (c *Conn) Closed() <-chan struct{} { return c.closed }

// Drained returns a channel that is closed when standard error has ended, or at once if
// Options.Undrained is set.
func (c *Conn) Drained() <-chan struct{} { return c.drained }

// Partial returns how many bytes have come of a message that is not complete yet.
func (c *Conn) Partial() int64 { return c.Out.Bytes() - c.read.Load() }

// BareHeaders returns how many headers of the output had a line that ended with LF alone.
func (c *Conn) BareHeaders() int64 { return c.bare.Load() }

// SetMaxMessage lowers the limit on the size of a message. The limit also holds for a message that
// has partly come.
func (c *Conn) SetMaxMessage(n int) { c.limit.Store(int64(n)) }

// CloseInput ends the program's standard input.
func (c *Conn) CloseInput() error { return c.In.w.Close() }

// CloseOutput closes our end of the program's standard output.
func (c *Conn) CloseOutput() error { return c.Out.r.Close() }

// Left reports whether the program has closed its output and has ended. If the output is still
// open, Left returns false at once. If the output is closed, Left gives the program the time d to
// end.
func (c *Conn) Left(d time.Duration) bool {
	select {
	case <-c.closed:
		return c.Process == nil || c.Ended(d)
	default:
		return false
	}
}

// Ended reports whether the program ends within d. A program that is still at work gets up to half
// a minute.
func (c *Conn) Ended(d time.Duration) bool {
	began := time.Now()
	for !c.Process.Ended(d) {
		if !c.Process.Runnable() || time.Since(began) > 30*time.Second {
			return c.Process.Ended(0)
		}
	}
	return true
}

// leaveTime is how long Close waits for standard error to end. A process outside the program's
// process group may keep standard error open.
const leaveTime = time.Second

// Close kills the program and its process group, and closes our ends of the streams. Afterwards
// nothing is read or sent.
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
	c.replying.Wait()
}

// Within waits until a channel is closed, but no longer than d. It reports whether the channel was
// closed.
func Within(ch <-chan struct{}, d time.Duration) bool {
	select {
	case <-ch:
		return true
	case <-time.After(d):
	}
	select { // if both happened, the first select may have chosen the timer
	case <-ch:
		return true
	default:
		return false
	}
}
