// Package tap stands between a stdio client and its server, passes every byte on unchanged, and
// records what passed.
//
//	end, err := tap.Run(tap.Options{Command: []string{"my-server", "--stdio"}, Record: file})
//	if end == nil {
//		return err // it was not started
//	}
//	end.ExitLike() // leaves as the server left
//
// Each direction has a goroutine of its own. The goroutine reads what is there, writes it on, and
// only then looks for messages in it. So the directions do not wait for each other, and no byte is
// held back until a message is complete. Ends of file, closed streams, the exit status and signals
// pass through, too. The server writes to standard error directly.
//
// The messages go through a bounded buffer to the recording. If the recording cannot keep up, the
// traffic does not wait. Instead of the missing messages, the recording gets a line with their
// number. By default a recording holds sizes, times, methods and ids. Bodies may hold secrets, so
// they are recorded only if asked for.
//
// After the server has ended, the tap goes on passing its output to the client, including the
// output of processes that the server left behind. The tap stops when the output ends, when the
// client closes its end, or at a signal.
//
// Only one Run at a time is allowed in a process, because signals belong to the process. The tap
// catches every signal that it forwards, from before the server starts until this process ends. So
// no signal can end this process in another way than the server ended. A process that goes on after
// Run calls [Ending.Release]. During Run, GOMAXPROCS is at least 6.
//
// Run takes over the streams it is given. If a read from the client is under way when the server
// ends, this read goes on until the client closes its end or this process ends.
//
// With the tap, each message passes through two pipes instead of one, and through one more process;
// `pipebench help checking` has figures. The tap uses less than 20 MB of memory, unless bodies are
// kept or the recording falls behind.
//
// # What it does not promise
//
// The server's pipes are of the same kind as the tap's own, but hold up to 1 MiB where the system
// allows that. So a program that hangs because a pipe is full may not hang under the tap.
//
// A batch is recorded as one message without id and method. If a message is above 2 MiB (16 MiB if
// bodies are kept), its id and method are sure to be recorded only if its first KiB contains them.
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
	Command []string // of the server
	Env     []string // of the server; nil: this process's own
	Dir     string   // where the server runs; "": where this process runs

	// The client's streams; nil: this process's own. The function Run closes Stdin and Stdout.
	Stdin, Stdout, Stderr *os.File

	Record io.Writer // gets the recording, in whole lines; nil: no recording
	Run    string    // the id of the run, written into each line
	// Protocol is "mcp", "lines" or "jsonrpc" for messages in lines, or "lsp" for messages with
	// headers. If Protocol is "" or "auto", the tap finds out.
	Protocol string
	// Framing is how messages are told apart. If Framing is nil, the tap uses the framing of the
	// protocol, and also finds frames of chunked messages among lines.
	Framing framers.Framing
	Bodies  bool // record the bodies of messages, up to 16 MiB each
	Redact  bool // record bodies with their values overwritten; implies Bodies
}

// Protocols lists the names that Options.Protocol may have.
func Protocols() []string { return []string{"auto", "mcp", "lsp", "jsonrpc", "lines"} }

// framingOf returns how a protocol frames its messages. It returns nil if the tap has to find out.
func framingOf(protocol string) framers.Framing {
	switch protocol {
	case "mcp", "jsonrpc", "lines":
		return lines()
	case "lsp":
		return framers.ContentLength()
	}
	return nil
}

// sessionThreads is the largest number of threads that a session needs: one for each of the two
// directions, one that waits for the server, one for the recording, one for signals, and one to
// spare.
//
// A thread that runs Go code holds one of the GOMAXPROCS slots of the Go scheduler, and keeps it in
// the kernel. The first three threads are in the kernel most of the time. If slots are missing, a
// thread that comes out of the kernel waits until the runtime takes a slot from another thread.
// With one slot, a round trip of 1 KiB took 16 µs instead of 8.
const sessionThreads = 6

// How long Run still waits after one of the endingSignals, once the server has ended.
const (
	outputGrace = 200 * time.Millisecond // for the last of the output to reach the client
	recordGrace = time.Second            // for the recording to be written
)

// Run starts the command and passes everything on in both directions. It returns when the server
// has ended and its output has been passed on. If the command could not be started, the Ending is
// nil. With an Ending, an error says that the last of the output was lost, or that the recording is
// not whole.
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
	s := &session{recorder: newRecorder(o), stopWaiting: make(chan struct{})}
	if err := s.start(); err != nil {
		return nil, err
	}
	return s.finish()
}

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
	server      *proc.Process
	in, out     *relay        // from the client to the server, and back
	stopWaiting chan struct{} // closed at an ending signal after the server has ended

	signals   chan os.Signal
	forwarded chan struct{} // closed when no more signals are forwarded
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
			toChild.Close()
			fromChild.Close()
			return fmt.Errorf("tap: %w", err)
		}
	}
	s.server = proc.Command(s.Command[0], s.Command[1:]...)
	s.server.Attached = true // processes that the server leaves behind go on, as without a tap
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

// catchSignals begins to queue signals for forwardSignals. A signal that is ignored, such as SIGHUP
// under nohup, stays ignored until the server has started. So the server ignores it, too.
func (s *session) catchSignals() {
	s.signals = make(chan os.Signal, 16)
	for _, sig := range forwardedSignals {
		if !signal.Ignored(sig) {
			signal.Notify(s.signals, sig)
		}
	}
}

// forwardSignals sends the signals to the server, which decides what they do. After the server has
// ended, one of the endingSignals makes the tap stop waiting. Signals stay caught until this
// process ends or calls Release.
func (s *session) forwardSignals() {
	signal.Notify(s.signals, forwardedSignals...)
	s.forwarded = make(chan struct{})
	go func() {
		defer close(s.forwarded)
		told := false
		for sig := range s.signals {
			switch {
			case !s.server.Ended(0 /* now */):
				s.server.Cmd.Process.Signal(sig) // fails if the server has just ended: no matter
			case !told && slices.Contains(endingSignals, sig):
				told = true
				close(s.stopWaiting)
			}
		}
	}()
}

// finish waits for the end of the server, of its output and of the recording.
func (s *session) finish() (*Ending, error) {
	<-s.server.Done()
	e := &Ending{session: s}
	cut := s.drainOutput()
	lost := s.outputLost()
	e.outputLost = lost != nil
	written := make(chan error, 1)
	go func() {
		written <- s.recorder.close(func() results.Target { return s.summary(e) })
	}()
	var err error
	select {
	case err = <-written:
	case <-s.stopWaiting:
		select {
		case err = <-written:
		case <-time.After(recordGrace):
			err = errors.New("the recording is not whole: it was not taken in time")
		}
	}
	return e, errors.Join(cut, lost, err)
}

// summary returns the last record of the recording: what was started, how it ended, and how much
// passed.
func (s *session) summary(e *Ending) results.Target {
	protocol := s.Protocol
	if protocol == "" || protocol == "auto" {
		s.mu.Lock()
		protocol = cmp.Or(s.in.track.protocol, s.in.decoder.framingName())
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

// outputLost returns the error that kept the server's output from being written on. If the client
// has left, it returns nil: the server meets a broken pipe, as it would without a tap.
func (s *session) outputLost() error {
	why := s.out.failed.Load()
	if why == nil {
		return nil
	}
	return fmt.Errorf("output was lost: write to standard output: %w", *why)
}

// drainOutput waits until all of the server's output has been passed on, or until the client has
// closed its end. The output has not ended while another process holds it open.
//
// A signal may end the wait early. If some bytes were then read but not written, drainOutput
// returns an error with their number. More bytes may be in the server's pipe.
func (s *session) drainOutput() error {
	gone := make(chan struct{})
	go func() {
		for s.out.to.readerStays() {
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
	case <-s.stopWaiting:
		select {
		case <-s.out.done:
			return nil
		case <-time.After(outputGrace): // for what is on its way
		}
		if s.out.writing.Load() > 0 {
			return fmt.Errorf("the client did not take the last of the output: "+
				"%d bytes or more not taken", s.out.inHand.Load())
		}
	}
	return nil
}

// An Ending is how the server ended.
type Ending struct {
	session    *session
	outputLost bool // some output was not written on, though the client may still read
}

// Release stops catching signals. Only a process that goes on after Run needs it.
func (e *Ending) Release() {
	signal.Stop(e.session.signals)
	close(e.session.signals) // signal.Stop has returned, so no more signals come
	<-e.session.forwarded
}

// ExitCode returns the server's exit status, or 128 plus the number of the signal that ended the
// server, as shells do. If output was lost, it returns 1 instead of 0: without a tap the server
// itself would have met the error and could have failed.
func (e *Ending) ExitCode() int {
	code := e.session.server.ExitCode()
	if code == 0 && e.outputLost {
		return 1
	}
	return code
}

// String returns the ending in the form of a record, such as "exit 0" or "signal SIGKILL".
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
