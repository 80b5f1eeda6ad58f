// Package tap stands between a stdio client and its server, passes every byte on unchanged, and
// records what passed.
//
//	end, err := tap.Run(tap.Options{Command: []string{"my-server", "--stdio"}, Record: file})
//	if end == nil {
//		return err // the server was not started
//	}
//	end.ExitLike() // exits as the server exited
//
// The traffic never waits for the recording. If messages are missing, the recording says how many.
//
// Only one Run at a time is allowed in a process. Signals stay caught until [Ending.Release].
//
// The server's pipes hold up to 1 MiB, so a server that hangs when a smaller pipe is full may not
// hang here.
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

	// The client's streams; nil: this process's own.
	Stdin, Stdout, Stderr *os.File

	Record io.Writer // gets the recording, in whole lines; nil: no recording
	Run    string    // the id of the run, written into each line
	// Protocol is one of [Protocols]. If Protocol is "" or "auto", the protocol is found out from
	// the messages.
	Protocol string
	// Framing is how messages are told apart. If it is nil, the protocol decides.
	Framing framers.Framing
	Bodies  bool // record the bodies of messages, up to 16 MiB each
	Redact  bool // record bodies with their values overwritten; implies Bodies
}

// Protocols lists the names that Options.Protocol may have.
func Protocols() []string { return []string{"auto", "mcp", "lsp", "jsonrpc", "lines"} }

// framingOf returns how a protocol frames its messages, or nil if only the messages can tell.
func framingOf(protocol string) framers.Framing {
	switch protocol {
	case "mcp", "jsonrpc", "lines":
		return lines()
	case "lsp":
		return framers.ContentLength()
	}
	return nil
}

// sessionThreads is the least GOMAXPROCS while Run works. With 1, a thread that comes back from the
// kernel has to wait: a round trip of 1 KiB took 16 µs instead of 8.
const sessionThreads = 6 // two directions, server, recording, signals, one to spare

// How long Run still waits when the server has ended and a signal such as SIGTERM has come.
const (
	outputGrace = 200 * time.Millisecond // for the last of the output to reach the client
	recordGrace = time.Second            // for the recording to be written
)

// Run starts the server, and passes everything on until the server has ended and all of its output
// was passed on. Then it closes Stdin and Stdout, by default those of this process. The Ending is
// nil if the server could not be started. Otherwise, an error says that output was lost or that the
// recording is incomplete.
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
	s := &session{
		recorder: newRecorder(o), stopWaiting: make(chan struct{}), grace: outputGrace,
	}
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
	grace       time.Duration // for the last of the output

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
	s.server.Attached = true // processes that the server leaves behind go on, as if it ran alone
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
	s.out.decoder.client = s.in.decoder
	s.makePart = func() results.Target {
		return s.summary(&Ending{session: s, ended: s.now()}, results.VerdictRunning)
	}
	go s.in.run()
	go s.out.run()
	return nil
}

// catchSignals begins to queue signals. A signal that is ignored, as under nohup, stays ignored
// until the server has started, because the server inherits which signals are ignored.
func (s *session) catchSignals() {
	s.signals = make(chan os.Signal, 16)
	for _, sig := range forwardedSignals {
		if !signal.Ignored(sig) {
			signal.Notify(s.signals, sig)
		}
	}
}

// forwardSignals passes the signals that we get on to the server. If the server has ended, a signal
// such as SIGTERM ends our own waiting instead.
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
	e := &Ending{session: s, ended: s.now()}
	stalled := s.out.account().StalledNS
	cut := s.drainOutput()
	e.outputOpen = s.now() - e.ended - (s.out.account().StalledNS - stalled)
	lost := s.outputLost()
	e.outputLost = lost != nil
	written := make(chan error, 1)
	go func() {
		written <- s.recorder.close(func() results.Target { return s.summary(e, e.String()) })
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

// summary returns the last record of the recording, or the last so far: what was started, how it
// ended, and how much passed.
func (s *session) summary(e *Ending, verdict string) results.Target {
	protocol := s.Protocol
	if protocol == "" || protocol == "auto" {
		s.mu.Lock()
		protocol = s.in.track.protocol
		framing := s.in.decoder.framingName()
		if protocol == "" || protocol == "jsonrpc" && framing == "headers" {
			protocol = framing
		}
		s.mu.Unlock()
	}
	return results.Target{
		Kind: results.KindTarget, Run: s.Run, Time: time.Now().UTC(),
		Command: results.HideSecrets(s.Command), Protocol: protocol, Verdict: verdict,
		Evidence: results.TargetEvidence{Traffic: &results.TrafficEvidence{
			ElapsedNS: e.ended, OutputOpenNS: e.outputOpen,
			Requests: s.in.account(), Replies: s.out.account(),
		}},
	}
}

// outputLost returns the error that kept output from the client, or nil if the client has left.
func (s *session) outputLost() error {
	why := s.out.failed.Load()
	if why == nil {
		return nil
	}
	return fmt.Errorf("output was lost: write to standard output: %w", *why)
}

// drainOutput waits until all output of the server has been passed on, or the client has left. If a
// signal ends the wait, the error says how much output the client did not take.
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
		return nil
	case <-gone:
	case <-s.stopWaiting:
	}
	select {
	case <-s.out.done:
		return nil
	case <-time.After(s.grace): // for what is on its way
	}
	if s.out.writing.Load() > 0 {
		return fmt.Errorf("the client did not take the last of the output: "+
			"%d bytes or more not taken", s.out.inHand.Load())
	}
	return nil
}

// An Ending is how the server ended.
type Ending struct {
	session    *session
	ended      int64 // as from session.now
	outputOpen int64 // for how many ns its output stayed open after that, without our own waits
	outputLost bool  // some output was not passed on, though the client may still read
}

// Release stops catching signals. Only a process that goes on after Run needs it.
func (e *Ending) Release() {
	signal.Stop(e.session.signals)
	close(e.session.signals) // signal.Stop has returned, so no more signals come
	<-e.session.forwarded
}

// ExitCode returns the server's exit status, or 128 plus the number of the signal that ended it. If
// output was lost, the code is 1 in place of 0.
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
