package tap

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"time"

	"github.com/pipebench/pipebench/results"
)

// Options say what to start and what to record. Only Command is needed.
type Options struct {
	Command []string
	Env     []string // of the server; nil is ours
	Dir     string   // where it runs; "" is where we run

	Stdin, Stdout, Stderr *os.File // the client's; nil is this process's own. Run closes the first two

	Record   io.Writer // where the recording goes, in whole lines; nil is nowhere
	Run      string    // the run that its lines belong to
	Protocol string    // "mcp", "lines" or "jsonrpc" by lines, "lsp" by headers; "" and "auto" find out
	Bodies   bool      // keep what messages hold, up to 16 MiB each
	Redact   bool      // keep it with its values overwritten; implies Bodies
}

// A StartError is returned when the command could not be started.
type StartError struct {
	Command []string
	Err     error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("start %s: %v (is it installed, and spelt as on a command line?)", e.Command[0], e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// Protocols lists the names that Options.Protocol may have.
func Protocols() []string { return []string{"auto", "mcp", "lsp", "jsonrpc", "lines"} }

func framingOf(protocol string) (framing, error) {
	switch protocol {
	case "", "auto":
		return unknown, nil
	case "mcp", "jsonrpc", "lines":
		return byLines, nil
	case "lsp":
		return byHeaders, nil
	}
	return unknown, fmt.Errorf("tap: unknown protocol %q (known: %v)", protocol, Protocols())
}

// outputGrace is how long after the server's end its output may stay silent before it is taken for over, although something that the server
// started holds it open.
const outputGrace = time.Second

// Run starts the command, passes everything on in both directions, and returns when the server has ended and its output has been passed on.
// The error is about starting, or about the recording; then the traffic was passed on all the same.
func Run(o Options) (Ending, error) {
	protocol, err := framingOf(o.Protocol)
	if err != nil {
		return Ending{}, err
	}
	if len(o.Command) == 0 {
		return Ending{}, errors.New("tap: no command to start")
	}
	o = o.withDefaults()
	defer raiseThreads(sessionThreads)()
	runtime.LockOSThread() // the server dies with the thread that started it, where the system can see to that
	defer runtime.UnlockOSThread()
	s := &session{Options: o, began: time.Now(), rec: newRecorder(o.Record)}
	if err := s.start(protocol); err != nil {
		return Ending{}, err
	}
	return s.finish()
}

func (o Options) withDefaults() Options {
	for _, f := range []struct{ file, own **os.File }{{&o.Stdin, &os.Stdin}, {&o.Stdout, &os.Stdout}, {&o.Stderr, &os.Stderr}} {
		if *f.file == nil {
			*f.file = *f.own
		}
	}
	if o.Record == nil {
		o.Record = io.Discard
	}
	o.Bodies = o.Bodies || o.Redact
	return o
}

// A session is one server and its client.
type session struct {
	Options
	cmd      *exec.Cmd
	began    time.Time
	rec      *recorder
	in, out  *relay
	signals  chan os.Signal
	unsignal chan struct{}
}

func (s *session) start(protocol framing) error {
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
		if ends[i], err = open(f); err != nil {
			return fmt.Errorf("tap: %w", err)
		}
	}
	s.cmd = exec.Command(s.Command[0], s.Command[1:]...)
	s.cmd.Env, s.cmd.Dir = s.Env, s.Dir
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = childIn, childOut, s.Stderr
	setPdeathsig(s.cmd)
	if err := s.cmd.Start(); err != nil {
		toChild.Close()
		fromChild.Close()
		return &StartError{s.Command, err}
	}
	s.forward()
	s.in = newRelay(ends[0], ends[1], s.began, s.track(fromClient), protocol)
	s.out = newRelay(ends[2], ends[3], s.began, s.track(fromServer), protocol)
	go s.rec.run()
	go s.in.run()
	go s.out.run()
	return nil
}

func (s *session) track(dir string) *track {
	return s.rec.track(s.Options.Run, dir, s.Bodies, s.Redact)
}

// forward hands signals on to the server, which decides what becomes of them.
func (s *session) forward() {
	s.signals, s.unsignal = make(chan os.Signal, 16), make(chan struct{})
	signal.Notify(s.signals, forwardedSignals...)
	go func() {
		defer close(s.unsignal)
		for sig := range s.signals {
			s.cmd.Process.Signal(sig) // one that has ended by now needs none
		}
	}()
}

func (s *session) finish() (Ending, error) {
	s.cmd.Wait() // its error is in ProcessState
	s.drainOutput()
	signal.Stop(s.signals)
	close(s.signals)
	<-s.unsignal
	e := Ending{state: s.cmd.ProcessState}
	err := s.rec.close(int64(time.Since(s.began)))
	if summary := s.summary(e); err == nil {
		err = s.keep(summary)
	}
	return e, err
}

// drainOutput waits until the server's output has been passed on. Usually that is at once; a process that the server left behind may hold it open
// for ever, and is not waited for once it is silent.
func (s *session) drainOutput() {
	for {
		before := s.out.bytes.Load()
		select {
		case <-s.out.done:
			return
		case <-time.After(outputGrace):
			if s.out.bytes.Load() == before {
				return
			}
		}
	}
}

// keep writes a line behind all others.
func (s *session) keep(t results.Target) error {
	text, err := json.Marshal(t)
	if err == nil {
		_, err = s.Record.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("the recording is not whole: %w", err)
	}
	return nil
}
