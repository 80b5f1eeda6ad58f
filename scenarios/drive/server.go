package drive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/results"
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

// A server is the process that is driven, with our ends of its standard streams.
type server struct {
	*proc.Process
	stdin, stdout, stderr *syspipe.End

	stderrTail proc.Tail
	drained    chan struct{} // closed when nobody reads standard error any more
}

// startServer starts the command over pipes as the options say.
func startServer(o Options) (*server, error) {
	s := &server{
		Process: proc.Command(o.Command[0], o.Command[1:]...), drained: make(chan struct{}),
		stderrTail: proc.Tail{Limit: tailBytes},
	}
	s.Cmd.Env, s.Cmd.Dir = o.Env, o.Dir
	theirStdout, err := s.start(o)
	if err != nil {
		s.closeStreams()
		return nil, err
	}
	defer theirStdout.Close()
	go s.drain(!o.undrained)
	if o.nonblock {
		if err := theirStdout.SetIO(syspipe.Poll); err != nil { // the mode is the pipe's, not the descriptor's
			s.kill()
			return nil, fmt.Errorf("non-blocking standard output: %w", err)
		}
	}
	return s, nil
}

// start opens the pipes and starts the process, and returns its end of standard output, for the
// caller to close. The server's other ends are ours only until it has them.
func (s *server) start(o Options) (*syspipe.End, error) {
	var theirs [3]*syspipe.End
	var errs [3]error
	s.stdin, theirs[0], errs[0] = syspipe.Open(o.Pipe, o.Capacity)
	theirs[1], s.stdout, errs[1] = syspipe.Open(o.Pipe, o.Capacity)
	theirs[2], s.stderr, errs[2] = syspipe.Open(syspipe.Anonymous, 0)
	err := errors.Join(errs[:]...)
	var files [3]*os.File
	for i := range theirs {
		if err == nil {
			files[i], err = theirs[i].File()
		}
		defer files[i].Close() // says no more than that it is nil, where it is
	}
	for _, ours := range []*syspipe.End{s.stdin, s.stdout, s.stderr} {
		if err == nil {
			err = usePoller(ours)
		}
	}
	if err != nil {
		closeEnds(theirs[:]...)
		return nil, fmt.Errorf("pipes for %s: %w", o.Command[0], err)
	}
	s.Cmd.Stdin, s.Cmd.Stdout, s.Cmd.Stderr = files[0], files[1], files[2]
	if err := s.Start(context.Background()); err != nil { // it ends when it is told to: see shutdown
		closeEnds(theirs[:]...)
		return nil, &StartError{o.Command, err}
	}
	closeEnds(theirs[0], theirs[2])
	return theirs[1], nil
}

func closeEnds(ends ...*syspipe.End) {
	for _, e := range ends {
		if e != nil {
			e.Close()
		}
	}
}

func (s *server) closeStreams() { closeEnds(s.stdin, s.stdout, s.stderr) }

// usePoller gives our end to Go's poller, where the system can: a goroutine then waits without a
// thread. Elsewhere it blocks.
func usePoller(e *syspipe.End) error {
	if err := e.SetIO(syspipe.Poller); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// drain reads standard error. A read that was begun ends when the stream is closed by us or by
// everyone who has it.
func (s *server) drain(read bool) {
	defer close(s.drained)
	if read {
		io.Copy(&s.stderrTail, s.stderr) // its end is no failure
	}
}

// alive reports whether the process has not ended yet.
func (s *server) alive() bool { return !s.Ended(0) }

// The patience with a server that is asked to leave: at the end of its input it may finish its
// work, at SIGTERM it should only tidy up.
const (
	leaveAtEOF  = 2 * time.Second
	leaveAtTerm = time.Second
)

// stop asks the server to leave, and makes it.
func (s *server) stop() {
	s.stdin.Close()
	s.Stop(leaveAtEOF, leaveAtTerm)
	s.kill()
}

// kill ends the server and all it started, and returns when it is gone.
func (s *server) kill() {
	s.Close()
	s.drainStderr()
	s.closeStreams()
	<-s.drained
}

// drainStderr waits for what is left of standard error, which ends with the last process that has
// it: at once, but where one has left the server's group and lives on.
func (s *server) drainStderr() {
	timer := time.NewTimer(leaveAtTerm)
	defer timer.Stop()
	select {
	case <-s.drained:
	case <-timer.C:
	}
}

// What of standard error is kept, and what of it goes into a record.
const (
	tailBytes   = 8 << 10
	quotedLines = 5
	quotedBytes = 300 // of a line
)

// stderrLines returns the last lines on standard error, shortened.
func (s *server) stderrLines() []string {
	var out []string
	for line := range strings.Lines(s.stderrTail.String()) {
		if line = strings.ToValidUTF8(strings.TrimSpace(line), "\uFFFD"); line != "" {
			out = append(out, shorten(line, quotedBytes))
		}
	}
	return out[max(0, len(out)-quotedLines):]
}

// shorten cuts a text that is too long to be read.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// exitVerdict says how the process ended. Call it only when it has.
func (s *server) exitVerdict() Verdict {
	state := s.Cmd.ProcessState
	if _, name, ok := proc.Signaled(state); ok {
		return Verdict(signalPrefix + name)
	}
	return Verdict(fmt.Sprint(exitPrefix, state.ExitCode()))
}

// peakMemory returns the largest resident memory of the server so far, in bytes; nil where it is
// not known.
func (s *server) peakMemory() *int64 {
	if n, known := s.PeakMemory(); known {
		return &n
	}
	return nil
}

// counters are what both sides had done at a time.
type counters struct {
	at             time.Time
	sent, received int64 // bytes that the pipe took of ours, and that came
	calls          int64 // ours, to write and to read
	stderr         int64 // bytes that the server wrote there
	cpu            int64 // ns that the server used; -1 where the system does not tell
	treeCPU        int64 // ns that the server and all that it started used; read by account alone
	ownCPU         int64 // ns that we used; read by account alone
}

// counters reads where both sides are, but for our own CPU time.
func (c *conn) counters() counters {
	now := counters{
		at: time.Now(), sent: c.in.bytes.Load(), received: c.out.bytes.Load(),
		calls: c.in.calls.Load() + c.out.calls.Load(), stderr: c.stderrTail.Total(), cpu: -1, treeCPU: -1, ownCPU: -1,
	}
	if spent, known := c.CPU(); known {
		now.cpu = int64(spent)
	}
	return now
}

// account reads where both sides are, for a sample.
func (c *conn) account() counters {
	now := c.counters()
	if spent, known := proc.OwnCPU(); known {
		now.ownCPU = int64(spent)
	}
	if spent, known := c.TreeCPU(); known {
		now.treeCPU = int64(spent)
	}
	return now
}

// since returns by how much processor time went up; nil where it is not known.
func since(now, before int64) *int64 {
	if now < 0 || before < 0 {
		return nil
	}
	return new(now - before)
}

// sample says what both sides did since. The writer is this process, the reader is the server,
// which alone knows how many calls it made.
func (c *conn) sample(before counters) results.Sample {
	now := c.account()
	s := results.Sample{WireBytes: now.sent - before.sent}
	moved := s.WireBytes + now.received - before.received
	s.Writer = results.Counters{Calls: now.calls - before.calls, Bytes: moved, CPUNS: since(now.ownCPU, before.ownCPU)}
	s.Reader = results.Counters{Bytes: moved, CPUNS: since(now.treeCPU, before.treeCPU), PeakBytes: c.peakMemory()}
	if n, err := c.stdin.Capacity(); err == nil {
		s.Capacity = n
	}
	return s
}

// busy is the share of a CPU above which a server is at work, not asleep.
const busy = 0.2

// spun reports whether the server used a good part of a CPU between two readings.
func spun(before, now counters) bool {
	worked := since(now.cpu, before.cpu)
	return worked != nil && float64(*worked) > busy*float64(now.at.Sub(before.at))
}

// progresses reports whether the server did anything between two readings (took something, sent
// something, or worked for a good part of the time), or would have if it had a CPU: on a busy
// machine one that is at work may come to less than its share.
func (c *conn) progresses(before, now counters) bool {
	return now.sent > before.sent || now.received > before.received || spun(before, now) || c.Runnable()
}

// A countedStream is a stream of the server's as we see it, counted so that another goroutine may
// look while a call is under way.
type countedStream struct {
	end   *syspipe.End
	bytes atomic.Int64
	calls atomic.Int64

	chunk int                           // bytes a write; 0 is all of them
	pause time.Duration                 // after each
	gate  atomic.Pointer[chan struct{}] // closed when reading may go on; nil where nothing holds it up
}

func (s *countedStream) Read(p []byte) (int, error) {
	if gate := s.gate.Load(); gate != nil {
		<-*gate
	}
	n, err := s.end.Read(p)
	s.count(int64(n))
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
