// Package tap stands between a stdio client and its server, passes every byte on unchanged, and
// records what passed.
//
//	end, err := tap.Run(tap.Options{Command: []string{"my-server", "--stdio"}, Record: file})
//	if end == nil {
//		return err // it was not started
//	}
//	end.ExitLike() // leaves as the server left
//
// Each direction has a goroutine of its own that reads what is there, writes it on, and only then
// looks at it, by a reader of the framing: the directions do not wait for each other, and nothing
// is held back for a message to be whole. Ends of file, closed streams, the exit status and signals
// pass through, too. Standard error is the server's own.
//
// What is seen goes through a bounded buffer to the recording: a recording that cannot keep up has
// a gap, which is counted and placed, and the traffic does not wait. By default it holds sizes and
// times, methods and ids; arguments may be secrets, and stay out unless asked for.
//
// When the server has ended, what it wrote is passed on however long the client takes, and so is
// what a process writes that it left behind: until the output ends, the client closes its end, or a
// signal says that it is enough. Then the recording says what was not taken.
//
// Run is called once at a time in a process, as signals are the process's. From before the server
// starts the tap takes every signal that it forwards, until the process has ended: so none ends it
// in another way than the server ended. A process that goes on calls Release. Run takes over the
// streams it is given; a read from the client that is under way when the server ends stays until
// the client closes its end or the process ends.
//
// While Run lasts GOMAXPROCS is 6 at least, since a thread that waits in the kernel keeps its share
// of Go's scheduler.
//
// # What it costs
//
// A message costs what it costs to copy it through two more pipes and to switch to one more process
// and back: on a virtual machine of two CPUs (BenchmarkRoundTrip and BenchmarkBulk, with cat behind
// it) a round trip of 1 KiB takes 10 µs on one CPU, 3 without a tap, and 60 µs on two CPUs with and
// without. Small messages in bulk cost their finding and their line in the recording, too: some
// 0.35 µs each and direction (BenchmarkSee), and 130 bytes for the disk's cache to take. It uses
// less than 20 MB, however long a line, unless bodies are kept or the recording falls behind.
//
// # What it does not promise
//
// The server sees pipes of the same kind and capacity as the tap's own, but twice as many bytes fit
// on the way. Batches are recorded as one message without id and method, and so may be a message
// above 2 MiB, or 16 MiB if bodies are kept, whose id does not stand in its first KiB.
package tap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Options say what to start and what to record. Only Command is needed.
type Options struct {
	Command []string
	Env     []string // of the server; nil is ours
	Dir     string   // where it runs; "" is where we run

	// The client's; nil is this process's own. Run closes the first two.
	Stdin, Stdout, Stderr *os.File

	Record io.Writer // where the recording goes, in whole lines; nil is nowhere
	Run    string    // the run that its lines belong to
	// "mcp", "lines" or "jsonrpc" by lines, "lsp" by headers; "" and "auto" find out.
	Protocol string
	// Framing is how messages are told apart; nil: as the protocol has it. Lines may have frames of
	// chunked messages among them either way.
	Framing framers.Framing
	Bodies  bool // keep what messages hold, up to 16 MiB each
	Redact  bool // keep it with its values overwritten; implies Bodies
}

// Protocols lists the names that Options.Protocol may have.
func Protocols() []string { return []string{"auto", "mcp", "lsp", "jsonrpc", "lines"} }

// framingOf returns how a protocol frames its messages; nil if that is to be found out.
func framingOf(protocol string) framers.Framing {
	switch protocol {
	case "mcp", "jsonrpc", "lines":
		return lines()
	case "lsp":
		return framers.ContentLength()
	}
	return nil
}

// sessionThreads is the largest number of threads that a session needs: two directions and the wait
// for the server, all of them in the kernel most of the time, the recording, signals, and one to
// spare. A thread in a system call keeps its share of Go's scheduler, and with as many shares as
// CPUs (on one CPU: a single one) another that comes out of the kernel waits until it is taken from
// there: on one CPU that made a round trip of 1 KiB 16 µs instead of 8.
const sessionThreads = 6

// Once a signal has said that it is enough, outputGrace is how long the last of the output may take
// to get to the client, and recordGrace how long the recording may take to be written.
const (
	outputGrace = 200 * time.Millisecond
	recordGrace = time.Second
)

// Run starts the command, passes everything on in both directions, and returns when the server has
// ended and its output has been passed on. Where it could not be started, the Ending is nil; else
// the error is about the last of the output, or about the recording.
func Run(o Options) (*Ending, error) {
	if o.Protocol != "" && !slices.Contains(Protocols(), o.Protocol) {
		return nil, fmt.Errorf("tap: unknown protocol %q (known: %v)", o.Protocol, Protocols())
	}
	if len(o.Command) == 0 {
		return nil, errors.New("tap: no command to start")
	}
	o.complete()
	before := runtime.GOMAXPROCS(0)
	if before < sessionThreads {
		runtime.GOMAXPROCS(sessionThreads)
		defer runtime.GOMAXPROCS(before)
	}
	s := &session{recorder: newRecorder(o), enough: make(chan struct{})}
	if err := s.start(); err != nil {
		return nil, err
	}
	return s.finish()
}

// complete fills in the defaults.
func (o *Options) complete() {
	o.Stdin = cmp.Or(o.Stdin, os.Stdin)
	o.Stdout = cmp.Or(o.Stdout, os.Stdout)
	o.Stderr = cmp.Or(o.Stderr, os.Stderr)
	o.Record = cmp.Or(o.Record, io.Discard)
	o.Bodies = o.Bodies || o.Redact
	if o.Framing == nil {
		o.Framing = framingOf(o.Protocol)
	}
}

// A session is one server and its client.
type session struct {
	*recorder
	server  *proc.Process
	in, out *relay
	enough  chan struct{} // closed by a signal that comes when the server has ended

	signals   chan os.Signal
	forwarded chan struct{} // closed when signals is closed and no more are forwarded
}

func (s *session) start() error {
	toChild, childIn, err := pipeLike(s.Stdin)
	if err != nil {
		return fmt.Errorf("tap: %w", err)
	}
	defer childIn.Close()
	childOut, fromChild, err := pipeLike(s.Stdout)
	if err != nil {
		toChild.Close()
		return fmt.Errorf("tap: %w", err)
	}
	defer childOut.Close()
	var ends [4]stream
	for i, f := range []*os.File{s.Stdin, toChild, fromChild, s.Stdout} {
		ends[i], err = open(f)
		if err != nil {
			return fmt.Errorf("tap: %w", err)
		}
	}
	s.server = proc.Command(s.Command[0], s.Command[1:]...)
	s.server.Attached = true // what it leaves behind goes on, as without us
	cmd := s.server.Cmd
	cmd.Env = s.Env
	cmd.Dir = s.Dir
	cmd.Stdin = childIn
	cmd.Stdout = childOut
	cmd.Stderr = s.Stderr
	mirrorMode(s.Stdin, childIn)
	mirrorMode(s.Stdout, childOut)
	s.catchSignals()
	if err := s.server.Start(context.Background()); err != nil {
		signal.Stop(s.signals)
		toChild.Close()
		fromChild.Close()
		return fmt.Errorf("%w (is it installed, and spelt as on a command line?)", err)
	}
	s.forwardSignals()
	s.in = newRelay(ends[0], ends[1], s.track(fromClient), s.Framing)
	s.out = newRelay(ends[2], ends[3], s.track(fromServer), s.Framing)
	go s.in.run()
	go s.out.run()
	return nil
}

// catchSignals keeps what may come from now on for forwardSignals. A signal that is ignored, as
// nohup has SIGHUP, stays so until the server has started, which inherits that.
func (s *session) catchSignals() {
	s.signals = make(chan os.Signal, 16)
	for _, sig := range forwardedSignals {
		if !signal.Ignored(sig) {
			signal.Notify(s.signals, sig)
		}
	}
}

// forwardSignals hands signals on to the server, which decides what becomes of them. Once the
// server has ended they are for the tap. They stay caught until this process has ended, or Release
// is called.
func (s *session) forwardSignals() {
	signal.Notify(s.signals, forwardedSignals...)
	s.forwarded = make(chan struct{})
	go func() {
		defer close(s.forwarded)
		told := false
		for sig := range s.signals {
			switch {
			case !s.server.Ended(0):
				s.server.Cmd.Process.Signal(sig) // one that has ended by now needs none
			case !told && slices.Contains(endingSignals, sig):
				told = true
				close(s.enough)
			}
		}
	}()
}

// finish waits for the end of the server, of its output and of the recording.
func (s *session) finish() (*Ending, error) {
	<-s.server.Done()
	e := &Ending{session: s}
	var records []any
	cut := s.drainOutput()
	if cut != nil {
		records = append(records, cut)
	}
	lost := s.outputLost()
	if lost != nil {
		e.outputLost = true
		records = append(records, s.finding("output-lost", lost.Error(),
			"make room, or give the command an output that takes everything", nil))
	}
	written := make(chan error, 1)
	go func() {
		written <- s.recorder.close(func() []any { return append(records, s.summary(e)) })
	}()
	var err error
	select {
	case err = <-written:
	case <-s.enough:
		select {
		case err = <-written:
		case <-time.After(recordGrace):
			err = errors.New("the recording is not whole: it was not taken in time")
		}
	}
	if cut != nil {
		late := fmt.Errorf("the client did not take the last of the output: %s", cut.Found)
		err = errors.Join(late, err)
	}
	return e, errors.Join(s.outputLost(), err)
}

// summary is the last record: what was started, how it ended, and how much passed.
func (s *session) summary(e *Ending) results.Target {
	protocol := s.Protocol
	if protocol == "" || protocol == "auto" {
		s.mu.Lock()
		protocol = cmp.Or(s.in.track.protocol, s.in.decoder.name())
		s.mu.Unlock()
	}
	return results.Target{
		Kind: results.KindTarget, Run: s.Run, Time: time.Now().UTC(),
		Command: results.HideSecrets(s.Command), Protocol: protocol, Verdict: e.String(),
		Evidence: results.TargetEvidence{Traffic: &results.TrafficEvidence{
			ElapsedNS: s.now(), Requests: s.in.account(), Replies: s.out.account(),
		}},
	}
}

// outputLost returns why the server's output could not be written on, other than that its reader
// has left, which the server learns as it would without a tap.
func (s *session) outputLost() error {
	why := s.out.failed.Load()
	if why == nil {
		return nil
	}
	return fmt.Errorf("output was lost: write to standard output: %w", *why)
}

// cutEvidence says how much of the output the client has not taken.
type cutEvidence struct {
	Dir    string `json:"dir"`
	Passed int64  `json:"passed_bytes"`
	// InHand is what was read and not, or not wholly, written. More may be in the server's pipe.
	InHand int64 `json:"in_hand_bytes"`
}

// drainOutput waits until the server's output has been passed on, as a pipe would hold it: until
// its end, which another process may hold open, or until the client has closed its own end. What it
// returns tells of bytes that are not waited for since a signal said so.
func (s *session) drainOutput() *results.Finding {
	gone := make(chan struct{})
	go func() {
		for s.out.to.awaitReader() {
			select {
			case <-s.out.done:
				return
			default:
			}
		}
		close(gone)
	}()
	select {
	case <-s.out.done:
	case <-gone:
	case <-s.enough:
		select {
		case <-s.out.done:
			return nil
		case <-time.After(outputGrace): // for what is on its way
		}
		if s.out.writing.Load() > 0 {
			e := cutEvidence{fromServer, s.out.bytes.Load(), s.out.inHand.Load()}
			return s.finding("output-cut", fmt.Sprintf("%d bytes or more not taken", e.InHand),
				"let the client read its input to the end before it ends the server", e)
		}
	}
	return nil
}

// An Ending is how the server ended.
type Ending struct {
	session    *session
	outputLost bool // the last of it was not written on, though somebody may still read
}

// Release leaves signals to whoever heard them before Run. Only a process that goes on needs it.
func (e *Ending) Release() {
	signal.Stop(e.session.signals)
	close(e.session.signals) // none comes after Stop has returned
	<-e.session.forwarded
}

// ExitCode returns the server's exit status; 128 and the signal's number, as shells have it, where
// a signal ended it. It is 1 instead of 0 if output was lost: without a tap the server would have
// met that error itself.
func (e *Ending) ExitCode() int {
	code := e.session.server.ExitCode()
	if code == 0 && e.outputLost {
		return 1
	}
	return code
}

// String returns the ending as a record has it: "exit 0", "signal SIGKILL".
func (e *Ending) String() string {
	if _, name, ok := proc.Signaled(e.session.server.Cmd.ProcessState); ok {
		return "signal " + name
	}
	return fmt.Sprintf("exit %d", e.session.server.ExitCode())
}

// ExitLike ends this process as the server ended: with its exit status, or by the same signal. It
// does not return.
func (e *Ending) ExitLike() {
	if number, _, ok := proc.Signaled(e.session.server.Cmd.ProcessState); ok {
		dieBySignal(number)
	}
	os.Exit(e.ExitCode())
}

// account returns the counts of one direction.
func (r *relay) account() results.DirectionTraffic {
	r.track.mu.Lock()
	a := r.track.account
	r.track.mu.Unlock()
	a.Bytes = r.bytes.Load()
	a.Reads = r.reads.Load()
	a.StalledNS = r.stalled.Load()
	since := r.writing.Load()
	if since > 0 { // a write is under way
		waited := r.track.now() - since
		if waited > int64(results.LeastStall) {
			a.StalledNS += waited
		}
	}
	return a
}
