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

// A Stream is our end of one of the program's streams. It counts bytes and calls, so that another
// goroutine can see how far a call is that is under way.
type Stream struct {
	r     io.ReadCloser
	w     io.WriteCloser
	bytes atomic.Int64
	calls atomic.Int64

	chunk int // bytes per write; 0 is all of them

	// closed when reading may go on; nil if nothing holds it up
	hold   atomic.Pointer[chan struct{}]
	copyTo atomic.Pointer[proc.Tail] // gets a copy of what is read; nil for none
}

// Bytes returns how many bytes went through so far.
func (s *Stream) Bytes() int64 { return s.bytes.Load() }

// Calls returns how many reads or writes there were so far.
func (s *Stream) Calls() int64 { return s.calls.Load() }

// Hold stops the reading from the next read on, until Resume.
func (s *Stream) Hold() { s.hold.Store(new(make(chan struct{}))) }

// Resume goes on with the reading. It may be called if nothing was held.
func (s *Stream) Resume() {
	if held := s.hold.Swap(nil); held != nil {
		close(*held)
	}
}

// Overhear keeps the last 64 KiB of what is read from now on, whether it is messages or not.
func (s *Stream) Overhear() *proc.Tail {
	said := &proc.Tail{Limit: 64 << 10}
	s.copyTo.Store(said)
	return said
}

func (s *Stream) Read(p []byte) (int, error) {
	if held := s.hold.Load(); held != nil {
		<-*held
	}
	n, err := s.r.Read(p)
	s.count(int64(n))
	if to := s.copyTo.Load(); to != nil {
		to.Write(p[:n])
	}
	return n, err
}

func (s *Stream) count(n int64) {
	s.bytes.Add(n)
	s.calls.Add(1)
}

// Write gives p to the program in pieces of WriteChunk bytes, and counts each piece.
func (s *Stream) Write(p []byte) (int, error) {
	size := s.chunk
	if size <= 0 {
		size = mostWritten
	}
	done := 0
	for done < len(p) {
		n, err := s.w.Write(p[done:min(done+size, len(p))])
		s.count(int64(n))
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// mostWritten is how many bytes of a frame are written in one call at most, so that those that a
// slow program has taken are counted while the rest waits. It is twice the usual capacity of a
// pipe: a larger call waits for the program anyway.
const mostWritten = 128 << 10

// wire returns the writer for frames. It takes gather lists if the stream does, and no pieces were
// asked for.
func (s *Stream) wire() io.Writer {
	if v, ok := s.w.(framers.Vectored); ok && s.chunk == 0 {
		return gatherStream{s, v}
	}
	return s
}

// A gatherStream takes header, message and terminator in one call.
type gatherStream struct {
	*Stream
	v framers.Vectored
}

func (s gatherStream) Writev(bufs [][]byte) (int64, error) {
	n, err := s.v.Writev(bufs)
	s.count(n)
	return n, err
}

// Unread returns how many bytes wait in the pipe for its reader, and false if the system does not
// tell. The program reads its standard input; we read its output.
func (s *Stream) Unread() (int, bool) {
	pipe, ok := s.pipe()
	if !ok {
		return 0, false
	}
	n, err := pipe.Buffered()
	return n, err == nil
}

// Capacity returns how many bytes the pipe holds, and false if the system does not tell.
func (s *Stream) Capacity() (int, bool) {
	pipe, ok := s.pipe()
	if !ok {
		return 0, false
	}
	n, err := pipe.Capacity()
	return n, err == nil
}

// pipe returns our end of the stream, if that is a [syspipe.End].
func (s *Stream) pipe() (*syspipe.End, bool) {
	var end any = s.r
	if s.w != nil {
		end = s.w
	}
	pipe, ok := end.(*syspipe.End)
	return pipe, ok
}

// Send writes one message, and waits until the program has taken it, or ctx ends. Its error is
// ErrNotTaken if ctx ended, ErrLeft if nobody reads any more. Once a message was sent only in part,
// nothing more can be sent.
func (c *Conn) Send(ctx context.Context, msg []byte) error {
	if c.watcher != nil {
		c.watcher.Sent(msg)
	}
	return c.write(ctx, func() error { return c.writer.WriteMessage(msg) })
}

// Batch calls put, which writes several messages; they go out in as few calls as possible. It
// returns the same errors as Send.
func (c *Conn) Batch(ctx context.Context, put func(framers.Writer) error) error {
	return c.write(ctx, func() error {
		if c.batch == nil {
			c.batch = bufio.NewWriterSize(c.In.wire(), 64<<10)
			c.batched = c.framing.NewWriter(
				c.batch, framers.WithMaxMessage(-1), framers.WithVerbatim())
		}
		err := put(c.batched)
		if err != nil {
			return err
		}
		return c.batch.Flush()
	})
}

// SendRaw writes bytes that are not a message of the framing. It returns the same errors as Send.
func (c *Conn) SendRaw(ctx context.Context, p []byte) error {
	return c.write(ctx, func() error {
		_, err := c.In.Write(p)
		return err
	})
}

// write calls do when no other message is being written, and ends its writes when ctx ends.
func (c *Conn) write(ctx context.Context, do func() error) error {
	select {
	case c.sending <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrNotTaken, context.Cause(ctx))
	}
	defer func() { <-c.sending }()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		c.In.interrupt()
	})
	err := do()
	if !stop() {
		<-interrupted // else it would end the next write
		c.In.allow()
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

// inputClosed is an ErrLeft that a write met.
type inputClosed struct{ error }

func (e inputClosed) Error() string {
	return fmt.Sprintf("nobody reads the server's input: %v", e.error)
}

func (e inputClosed) Is(target error) bool { return target == ErrLeft }
func (e inputClosed) Unwrap() error        { return e.error }

// A deadlineWriter is a stream whose writes can be ended.
type deadlineWriter interface{ SetWriteDeadline(time.Time) error }

// interrupt ends a write that is under way; a stream without deadlines is closed.
func (s *Stream) interrupt() {
	d, ok := s.w.(deadlineWriter)
	if !ok || d.SetWriteDeadline(time.Unix(1, 0)) != nil {
		s.w.Close()
	}
}

// allow removes the deadline that interrupt set.
func (s *Stream) allow() {
	if d, ok := s.w.(deadlineWriter); ok {
		d.SetWriteDeadline(time.Time{})
	}
}

// sendReplies answers the program's own requests until its output ends. It ignores errors, since
// the next message that is sent meets them, too.
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
