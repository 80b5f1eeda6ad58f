package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A Stream is our end of the program's standard input or output. Its counts of bytes and calls may
// be read at any time.
type Stream struct {
	r     io.ReadCloser  // nil if we write
	w     io.WriteCloser // nil if we read
	bytes atomic.Int64
	calls atomic.Int64

	chunk int  // bytes per write; 0 is maxWrite
	apart bool // see WriteApart
	// joined says that the program may have read two pieces at once, although apart is set.
	joined atomic.Bool

	// handling says that what was read last is still being looked at.
	handling atomic.Bool

	hold   atomic.Pointer[chan struct{}] // reads wait until this channel is closed; nil: no wait
	copyTo atomic.Pointer[proc.Tail]     // gets a copy of what is read; nil: no copy
}

// Bytes returns how many bytes were read or written so far.
func (s *Stream) Bytes() int64 { return s.bytes.Load() }

// Calls returns how many reads or writes there were so far.
func (s *Stream) Calls() int64 { return s.calls.Load() }

// Hold makes each later read wait until Resume is called. It does nothing if reads wait already.
func (s *Stream) Hold() { s.hold.CompareAndSwap(nil, new(make(chan struct{}))) }

// Resume lets reads go on. It does nothing if Hold was not called before.
func (s *Stream) Resume() {
	if held := s.hold.Swap(nil); held != nil {
		close(*held)
	}
}

// Overhear returns a Tail that keeps the last 64 KiB of what is read from now on.
func (s *Stream) Overhear() *proc.Tail {
	said := &proc.Tail{Limit: 64 << 10}
	s.copyTo.Store(said)
	return said
}

func (s *Stream) Read(p []byte) (int, error) {
	s.handling.Store(false)
	if held := s.hold.Load(); held != nil {
		<-*held
	}
	n, err := s.r.Read(p)
	s.count(int64(n))
	s.handling.Store(err == nil)
	if to := s.copyTo.Load(); to != nil {
		to.Write(p[:n])
	}
	return n, err
}

func (s *Stream) count(n int64) {
	s.bytes.Add(n)
	s.calls.Add(1)
}

// WriteApart makes later Writes wait before each piece until the program has read the last one.
func (s *Stream) WriteApart() { s.apart = true }

// Joined reports whether the program may have read several pieces at once; see WriteApart.
func (s *Stream) Joined() bool { return s.joined.Load() }

// awaitRead waits until the program has read all that was written, for a second at most.
func (s *Stream) awaitRead() {
	for range 1000 {
		unread, known := s.Unread()
		if known && unread == 0 {
			return
		}
		time.Sleep(time.Millisecond)
		if !known {
			break
		}
	}
	s.joined.Store(true)
}

// Write writes p to the program in pieces of Options.WriteChunk bytes, and counts each piece.
func (s *Stream) Write(p []byte) (int, error) {
	size := s.chunk
	if size <= 0 {
		size = maxWrite
	}
	done := 0
	for done < len(p) {
		if s.apart && !s.Joined() {
			s.awaitRead()
		}
		n, err := s.w.Write(p[done:min(done+size, len(p))])
		s.count(int64(n))
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// maxWrite is the most bytes per write: twice the usual capacity of a pipe. Writing in pieces lets
// us count how much a slow program has taken.
const maxWrite = 128 << 10

// frameWriter returns a writer for frames. If possible, the writer takes all parts of a frame in
// one call.
func (s *Stream) frameWriter() io.Writer {
	if v, ok := s.w.(framers.Vectored); ok && s.chunk == 0 {
		return gatherStream{s, v}
	}
	return s
}

type gatherStream struct {
	*Stream
	vectored framers.Vectored // the same stream's writer
}

func (s gatherStream) Writev(bufs [][]byte) (int64, error) {
	n, err := s.vectored.Writev(bufs)
	s.count(n)
	return n, err
}

// Unread returns how many bytes wait in the pipe for its reader. The second result is false if this
// is not known.
func (s *Stream) Unread() (int, bool) {
	n, err := s.pipe().Buffered()
	return n, err == nil
}

// Capacity returns how many bytes the pipe can hold. The second result is false if this is not
// known.
func (s *Stream) Capacity() (int, bool) {
	n, err := s.pipe().Capacity()
	return n, err == nil
}

// pipe returns our end of the stream as a [syspipe.End], or a closed one if our end is of another
// type.
func (s *Stream) pipe() *syspipe.End {
	var end any = s.r
	if s.w != nil {
		end = s.w
	}
	if pipe, ok := end.(*syspipe.End); ok {
		return pipe
	}
	return &syspipe.End{}
}

// Send writes one message. The error matches ErrNotTaken if ctx ends first, and ErrLeft if nobody
// reads the pipe any more. After an error in the middle of a message, nothing more can be sent.
func (c *Conn) Send(ctx context.Context, msg []byte) error {
	if c.watcher != nil {
		c.watcher.Sent(msg)
	}
	return c.write(ctx, func() error { return c.writer.WriteMessage(msg) })
}

// Batch calls put to write messages, and sends them in as few system calls as possible. It returns
// the same errors as Send.
func (c *Conn) Batch(ctx context.Context, put func(framers.Writer) error) error {
	return c.write(ctx, func() error {
		if c.batch == nil {
			c.batch = bufio.NewWriterSize(c.In.frameWriter(), 64<<10)
			c.batched = c.Framing.NewWriter(
				c.batch, framers.WithMaxMessage(unlimited), framers.WithVerbatim())
		}
		err := put(c.batched)
		if err != nil {
			return err
		}
		return c.batch.Flush()
	})
}

const unlimited = -1 // for WithMaxMessage

// SendRaw writes bytes that are not a message of the framing. It returns the same errors as Send.
func (c *Conn) SendRaw(ctx context.Context, p []byte) error {
	return c.write(ctx, func() error {
		_, err := c.In.Write(p)
		return err
	})
}

// write calls the function send when no other message is being written. If ctx ends meanwhile, the
// call is interrupted.
func (c *Conn) write(ctx context.Context, send func() error) error {
	select {
	case c.sending <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrNotTaken, context.Cause(ctx))
	}
	defer func() { <-c.sending }()
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrNotTaken, context.Cause(ctx))
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		if !c.In.boundWrite(time.Unix(1, 0)) {
			c.In.w.Close()
		}
	})
	err := send()
	if !stop() { // ctx has ended; without this wait, the interrupt could hit the next write
		<-interrupted
		c.In.boundWrite(time.Time{})
	}
	if err == nil {
		return nil
	}
	if _, refused := errors.AsType[*framers.PayloadError](err); refused {
		return err
	}
	if ctx.Err() != nil && !syspipe.ReaderLeft(err) {
		return fmt.Errorf("%w: %w", ErrNotTaken, context.Cause(ctx))
	}
	return inputClosed{err}
}

// An inputClosed is the error of a write to a pipe that nobody reads. It matches ErrLeft.
type inputClosed struct{ error }

func (e inputClosed) Error() string {
	return fmt.Sprintf("nobody reads the server's input: %v", e.error)
}

func (e inputClosed) Is(target error) bool { return target == ErrLeft }
func (e inputClosed) Unwrap() error        { return e.error }

// boundWrite sets the time at which a blocked write ends, and reports whether the stream has
// deadlines.
func (s *Stream) boundWrite(at time.Time) bool {
	d, ok := s.w.(interface{ SetWriteDeadline(time.Time) error })
	return ok && d.SetWriteDeadline(at) == nil
}

// sendReplies sends our answers to the program's requests. It ignores errors, because the next Send
// fails in the same way.
func (c *Conn) sendReplies() {
	for {
		m, ok := c.replies.take()
		if ok {
			c.Send(context.Background(), m.Raw)
			continue
		}
		select {
		case <-c.replies.come:
		case <-c.closed:
			return
		}
	}
}
