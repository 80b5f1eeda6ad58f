package drive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A StartError is returned when the command could not be started at all.
type StartError struct {
	Command []string
	Err     error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("%v (is it installed, and spelt as on a command line?)", e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// A conn is a running server that is spoken to in one framing, with our ends of its standard
// streams.
type conn struct {
	*proc.Process
	stdin, stdout, stderr *syspipe.End
	in, out               *countedStream

	framing framers.Framing
	sending sync.Mutex // one message at a time
	writer  framers.Writer

	receiver atomic.Pointer[receiver]
	// once it is known, by which messages of the server are told apart
	protocol atomic.Pointer[protocol]
	whole    atomic.Int64  // bytes that had come when the last message was whole
	answered int64         // requests that it served, of the goroutine that drives it
	closed   chan struct{} // closed when no more of the server's output is read
	ended    error         // why, once closed is

	replies chan []byte    // to the server's own requests
	replied sync.WaitGroup // over when nobody sends them any more

	stderrTail proc.Tail
	drained    chan struct{} // closed when nobody reads standard error any more

	client int // the process that the server was started by, as it is told

	strays strays
}

// A receiver is called with each message that may be an answer, by the goroutine that reads. The
// message is valid during the call.
type receiver func(msg []byte, e jsonrpc.Envelope, at time.Time)

// connect starts the server over pipes as the options say, and reads what it says from then on.
func connect(o Options, f framers.Framing) (*conn, error) {
	c := &conn{
		Process: proc.Command(o.Command[0], o.Command[1:]...), framing: f, client: os.Getpid(),
		closed: make(chan struct{}), replies: make(chan []byte, 64),
		stderrTail: proc.Tail{Limit: tailBytes}, drained: make(chan struct{}),
	}
	c.Cmd.Env, c.Cmd.Dir = o.Env, o.Dir
	if err := c.openPipes(o); err != nil {
		return nil, err
	}
	// it ends when it is told to: see shutdown
	if err := c.Start(context.Background()); err != nil {
		return nil, &StartError{o.Command, err}
	}
	c.in = &countedStream{end: c.stdin, chunk: o.WriteChunk, pause: o.WritePause}
	c.out = &countedStream{end: c.stdout}
	c.writer = f.NewWriter(c.wire(), framers.WithMaxMessage(-1), framers.WithVerbatim())
	reading := []framers.Option{
		framers.WithMaxMessage(o.MaxReply), framers.WithVerbatim(),
		framers.WithMaxInFlight(mostInflight, o.MaxReply), framers.WithExpiry(0),
	}
	if o.Lenient {
		reading = append(reading, framers.WithLenient())
	}
	go c.read(f.NewReader(c.out, reading...))
	c.replied.Go(func() {
		for reply := range c.replies {
			c.send(reply) // a failure is met by the next request, too
		}
	})
	go func() {
		defer close(c.drained)
		io.Copy(&c.stderrTail, c.stderr) // its end is no failure
	}()
	return c, nil
}

// openPipes connects the server's standard streams.
func (c *conn) openPipes(o Options) (err error) {
	c.stdin, err = c.Connect(0, o.Pipe, o.Capacity, false)
	if err != nil {
		return err
	}
	c.stdout, err = c.Connect(1, o.Pipe, o.Capacity, false)
	if err != nil {
		return err
	}
	c.stderr, err = c.Connect(2, syspipe.Anonymous, 0, false)
	return err
}

// wire returns where frames are written: in one call each, or in the pieces asked for.
func (c *conn) wire() io.Writer {
	if c.in.chunk > 0 {
		return c.in
	}
	return gatherStream{c.in}
}

// send writes one message.
func (c *conn) send(msg []byte) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.writer.WriteMessage(msg)
}

// sendWithin writes one message that the server has so long to take.
func (c *conn) sendWithin(limit time.Duration, msg []byte) error {
	defer c.watchWrite(limit)()
	return c.send(msg)
}

// ourMethods are of requests that only a client makes: a server that makes one echoes it.
var ourMethods = []string{
	unknownMethod, "server/discover", "initialize", "tools/list", "tools/call",
	"textDocument/documentSymbol",
}

// read takes what the server says where it belongs, until it says no more. As long as nothing is
// known of the server, every message may be the answer.
func (c *conn) read(r framers.Reader) {
	defer close(c.closed)
	defer close(c.replies)
	for {
		msg, err := r.ReadMessage()
		if err != nil {
			if c.strays.badFrame(err) {
				continue
			}
			c.ended = err
			return
		}
		at := time.Now()
		c.whole.Store(c.out.bytes.Load())
		e := jsonrpc.Scan(msg)
		kind, p, receive := e.Kind(), c.protocol.Load(), c.receiver.Load()
		known := p != nil && p.jsonRPC
		switch {
		case known && kind == jsonrpc.Request && !slices.Contains(ourMethods, string(e.Method)):
			// Queued, so that this loop never blocks on a write: a server may wait for its output
			// to be read before it reads. One of too many at once gets no reply.
			select {
			case c.replies <- p.respond(msg, e):
			default:
			}
		case known && kind == jsonrpc.Notification:
		case known && kind == jsonrpc.None:
			c.strays.nonMessage(msg)
		case receive != nil:
			(*receive)(msg, e, at)
		default:
			c.strays.unasked.Add(1)
		}
	}
}

// silence says why no more of the output is read, once closed is.
func (c *conn) silence() error {
	if large, ok := errors.AsType[*framers.TooLargeError](c.ended); ok {
		return fmt.Errorf("%w within %s", errEndless, stat.FormatBytes(large.Limit))
	}
	return errLeft
}

// partial returns how many bytes have come of a message that is not whole.
func (c *conn) partial() int64 { return c.out.bytes.Load() - c.whole.Load() }

// isClosed reports whether no more of its output is read.
func (c *conn) isClosed() bool { return closedWithin(c.closed, 0) }

// left reports whether the server closed its output and ended.
func (c *conn) left() bool { return c.isClosed() && c.Ended(leaveAtTerm) }

// closedWithin waits for a channel to be closed, d at most, and reports whether it was.
func closedWithin(ch <-chan struct{}, d time.Duration) bool {
	select {
	case <-ch:
	case <-time.After(d):
	}
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// overhear keeps the last of what the server says from now on, be it messages or not.
func (c *conn) overhear() *proc.Tail {
	said := &proc.Tail{Limit: 64 << 10}
	c.out.copyTo.Store(said)
	return said
}

// resumeReading goes on with a standard output that was left unread. It may be called when none
// was.
func (c *conn) resumeReading() {
	if gate := c.out.gate.Swap(nil); gate != nil {
		close(*gate)
	}
}

// strays are what the server said beside answers that were waited for.
type strays struct {
	unasked atomic.Int64 // answers that nobody waited for

	mu    sync.Mutex
	lines int64 // messages that are no JSON-RPC
	first string
	cut   bool // the last line began as JSON and did not end as such
	chunk int  // bytes of the first line that reads as a chunk, with its newline; 0 for none
}

// strayText bounds what of a line is kept, in characters.
const strayText = 120

// nonMessage counts what should not be on a standard output, and keeps the first for the record.
func (s *strays) nonMessage(msg []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines++
	s.cut = len(msg) > 0 && msg[0] == '{'
	if s.chunk == 0 && isChunk(msg) {
		s.chunk = len(msg) + 1
	}
	if s.lines == 1 {
		s.first = view.Truncate(
			strings.ToValidUTF8(string(msg[:min(len(msg), 2*strayText)]), "\uFFFD"),
			strayText,
		)
	}
}

// badFrame counts a frame that could not be read and after which the next one can; it reports false
// for any other error.
func (s *strays) badFrame(err error) bool {
	if header, ok := errors.AsType[*framers.HeaderError](err); ok {
		s.nonMessage([]byte(header.Line))
		return true
	}
	chunk, ok := errors.AsType[*framers.ChunkError](err)
	if ok {
		s.nonMessage([]byte(chunk.Line))
	}
	return ok
}

// nonMessages returns how many lines were no message, the first of them, and whether the last was
// half a message.
func (s *strays) nonMessages() (lines int64, first string, cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines, s.first, s.cut
}

// chunkSize returns how long the first line was that reads as a chunk; 0 where none did.
func (s *strays) chunkSize() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chunk
}

// forget drops what was taken for no message and was one.
func (s *strays) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines, s.first, s.cut = 0, "", false
}

// alive reports whether the process has not ended yet.
func (c *conn) alive() bool { return !c.Ended(0) }

// The patience with a server that is asked to leave: at the end of its input it may finish its
// work, at SIGTERM it should only tidy up.
const (
	leaveAtEOF  = 2 * time.Second
	leaveAtTerm = time.Second
)

// shutdown ends the server and everything that served it. A polite one lets it leave by itself
// first.
func (c *conn) shutdown(politely bool) {
	c.resumeReading()
	if politely {
		c.stdin.Close()
		c.Stop(leaveAtEOF, leaveAtTerm)
	}
	c.Kill()
	<-c.Done()
	// at once, unless a process that left its group has it still
	closedWithin(c.drained, leaveAtTerm)
	c.Close()
	<-c.drained
	<-c.closed
	c.replied.Wait()
}

// What of standard error is kept, and what of it goes into a record.
const (
	tailBytes   = 8 << 10
	quotedLines = 5
	quotedText  = 300 // characters of a line
)

// Lines of standard error that say what went wrong, and those that only say where.
var (
	errorLine = regexp.MustCompile(
		`(?i)error|exception|panic|fatal|exceed|too (long|large|big)|limit|overflow|cannot|failed`,
	)
	stackLine = regexp.MustCompile(
		`^(at |File "|goroutine \d|\S+\.go:\d|node:internal|\^+$|Node\.js v\d)`,
	)
)

// stderrLines returns the last lines on standard error, shortened, without those of a stack trace.
// The last that looks like an error is among them: a program may say much after it.
func (c *conn) stderrLines() []string {
	var out []string
	failure := -1 // the last line that looks like one
	for line := range strings.Lines(c.stderrTail.String()) {
		line = strings.ToValidUTF8(strings.TrimSpace(line), "\uFFFD")
		if line == "" || stackLine.MatchString(line) {
			continue
		}
		if errorLine.MatchString(line) {
			failure = len(out)
		}
		out = append(out, view.Truncate(line, quotedText))
	}
	last := max(0, len(out)-quotedLines)
	if failure >= 0 && failure < last {
		out[last] = out[failure]
	}
	return out[last:]
}

// exitVerdict says how the process ended. Call it only when it has.
func (c *conn) exitVerdict() Verdict {
	state := c.Cmd.ProcessState
	if _, name, ok := proc.Signaled(state); ok {
		return Verdict(signalPrefix + name)
	}
	return Verdict(fmt.Sprint(exitPrefix, state.ExitCode()))
}

// A countedStream is a stream of the server's as we see it, counted so that another goroutine may
// look while a call is under way.
type countedStream struct {
	end   *syspipe.End
	bytes atomic.Int64
	calls atomic.Int64

	chunk int           // bytes a write; 0 is all of them
	pause time.Duration // after each
	// closed when reading may go on; nil where nothing holds it up
	gate atomic.Pointer[chan struct{}]

	copyTo atomic.Pointer[proc.Tail] // of what is read; nil for none
}

func (s *countedStream) Read(p []byte) (int, error) {
	if gate := s.gate.Load(); gate != nil {
		<-*gate
	}
	n, err := s.end.Read(p)
	s.count(int64(n))
	if to := s.copyTo.Load(); to != nil {
		to.Write(p[:n])
	}
	return n, err
}

func (s *countedStream) count(n int64) {
	s.bytes.Add(n)
	s.calls.Add(1)
}

// Write gives p to the server in the pieces that were asked for. The bytes are counted piece by
// piece.
func (s *countedStream) Write(p []byte) (int, error) {
	size := s.chunk
	if size <= 0 {
		size = len(p)
	}
	done := 0
	for done < len(p) {
		n, err := s.end.Write(p[done:min(done+size, len(p))])
		s.count(int64(n))
		done += n
		if err != nil {
			return done, err
		}
		if s.pause > 0 && done < len(p) {
			time.Sleep(s.pause)
		}
	}
	return done, nil
}

// A gatherStream is a countedStream whose writes need not be cut: a framing then sends header,
// message and terminator in one gather call.
type gatherStream struct{ *countedStream }

func (s gatherStream) Writev(bufs [][]byte) (int64, error) {
	n, err := s.end.Writev(bufs)
	s.count(n)
	return n, err
}
