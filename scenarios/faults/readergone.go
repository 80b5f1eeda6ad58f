package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/scenarios/faults/actor"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/syspipe"
)

var readerGone = Scenario{
	Misbehaviour: catalogue.Must(catalogue.Program, "reader-gone"),
	Deadline:     time.Minute,
	run:          runReaderGone,
}

// When a reader leaves.
const (
	Before = "before"
	During = "during"
	After  = "after"
)

// A Leave is the evidence of reader-gone: what a writer gets when its reader
// leaves.
type Leave struct {
	Pipe      string `json:"pipe"`
	IO        string `json:"io"`
	When      string `json:"when"`
	Offered   int64  `json:"offered"`         // bytes of the write
	Accepted  int64  `json:"accepted"`        // by the kernel, says the writer's return value
	Read      int64  `json:"read"`            // by the reader, before it left
	Broken    bool   `json:"broken"`          // the write said that the reader had left
	Error     string `json:"error,omitempty"` // of the write
	NextError string `json:"next_error,omitempty"`
	NoticedNS int64  `json:"noticed_ns"`        // from the close to the error, of this write or the next
	Signals   *int   `json:"signals,omitempty"` // SIGPIPE received; absent where the system has none
}

// judgeLeave is the rule of reader-gone: bytes that were accepted, never read
// and not complained of are a silent loss; a writer that was told is one that
// noticed.
func judgeLeave(e Leave) Verdict {
	switch {
	case e.Broken:
		return Noticed
	case e.Accepted > e.Read:
		return SilentLoss
	}
	return Sound
}

func adviseLeave(v Verdict, e Leave) string {
	if v == SilentLoss {
		return "A write that fits the pipe succeeds although nobody will ever read it; the error comes with the next one. " +
			"Only an answer from the other side tells that a message arrived: await one for what must not be lost."
	}
	accepted := "The count that comes with the error is what the kernel took, not what was read."
	if e.Signals != nil && *e.Signals > 0 {
		return accepted + " The kernel also sent SIGPIPE, which ends a program that does not handle it before it sees the error: " +
			"ignore the signal, treat EPIPE as the end of the conversation, and do not log to the same pipe."
	}
	return accepted + " Treat the error as the end of the conversation."
}

func runReaderGone(ctx context.Context, s *stage) error {
	for _, kind := range syspipe.Kinds() {
		if err := kind.Supported(); err != nil {
			if err := s.unsupported(string(kind), err); err != nil {
				return err
			}
			continue
		}
		for _, wait := range syspipe.IOs() {
			s.step("%s, %s", kind, wait)
			if err := leaves(ctx, s, kind, wait); err != nil {
				return err
			}
		}
	}
	s.step("a program that prints")
	return printToNobody(ctx, s)
}

func leaves(ctx context.Context, s *stage, kind syspipe.Kind, wait syspipe.IO) error {
	part := fmt.Sprintf("%s/%s", kind, wait)
	if err := wait.Supported(); err != nil {
		return s.unsupported(part, err)
	}
	a, err := actor.Prepare(ctx, "leaver", leaverArgs{string(kind), wait.String()})
	if err != nil {
		return err
	}
	defer a.Dismiss()
	if err := a.Start(); err != nil {
		return err
	}
	for range 3 {
		var got leaverReport
		if err := a.Report(&got); err != nil {
			return err
		}
		if got.Unsupported != "" {
			return s.unsupported(part, errors.New(got.Unsupported))
		}
		v := judgeLeave(got.Leave)
		if err := s.fault(part+"/"+got.When, v, got.Leave, adviseLeave(v, got.Leave)); err != nil {
			return err
		}
	}
	return a.Wait()
}

type leaverArgs struct{ Kind, IO string }

type leaverReport struct {
	Leave
	Unsupported string
}

// playLeaver holds both ends, so that one clock times the close and the error.
func playLeaver(s *actor.Stage) error {
	var args leaverArgs
	if err := s.Args(&args); err != nil {
		return err
	}
	debug.SetGCPercent(-1) // a collection waits for threads in raw system calls
	wait, err := syspipe.ParseIO(args.IO)
	if err != nil {
		return err
	}
	pipes := newSignalCount()
	for _, when := range []string{Before, During, After} {
		got, err := leave(syspipe.Kind(args.Kind), wait, when, pipes)
		if errors.Is(err, errors.ErrUnsupported) {
			return s.Report(leaverReport{Unsupported: err.Error()})
		}
		if err != nil {
			return err
		}
		if err := s.Report(leaverReport{Leave: got}); err != nil {
			return err
		}
	}
	return nil
}

const (
	smallWrite = 4096    // fits every pipe
	largeWrite = 4 << 20 // fits none
	fewBytes   = 1024    // what the reader takes of a large write before it leaves
)

func leave(kind syspipe.Kind, wait syspipe.IO, when string, pipes *signalCount) (Leave, error) {
	e := Leave{Pipe: string(kind), IO: wait.String(), When: when, Offered: smallWrite}
	w, r, err := syspipe.Open(kind, 0)
	if err != nil {
		return e, err
	}
	defer w.Close()
	defer r.Close()
	if err := w.SetIO(wait); err != nil {
		return e, err
	}
	pipes.reset()
	var closed time.Time
	switch when {
	case Before:
		closed = time.Now()
		r.Close()
		e.write(w, smallWrite)
	case During:
		e.Offered = largeWrite
		done := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			defer close(done)
			e.write(w, largeWrite)
		}()
		read, err := io.ReadFull(r, make([]byte, fewBytes)) // so the write is under way, and cannot end
		if err != nil {
			return e, err
		}
		e.Read = int64(read)
		closed = time.Now()
		r.Close()
		<-done
	case After:
		e.write(w, smallWrite)
		closed = time.Now()
		r.Close()
		if _, err := w.Write(make([]byte, smallWrite)); err != nil {
			e.NextError = err.Error()
		}
	}
	e.NoticedNS = time.Since(closed).Nanoseconds()
	e.Signals = pipes.count()
	return e, nil
}

// write offers n bytes and notes what came of it.
func (e *Leave) write(w *syspipe.End, n int) {
	accepted, err := w.Write(make([]byte, n))
	e.Accepted = int64(accepted)
	if err != nil {
		e.Error = err.Error()
	}
	e.Broken = errors.Is(err, syscall.EPIPE)
}

// A Print is the evidence of reader-gone/stdout: a program that prints to a
// standard output nobody reads.
type Print struct {
	Handling string `json:"handling"` // of SIGPIPE: "default" or "ignored"
	Exit     string `json:"exit"`     // how it ended, in the system's words
	Signal   bool   `json:"signal"`   // killed by a signal
	Stderr   string `json:"stderr,omitempty"`
}

func judgePrint(e Print) Verdict {
	if e.Signal || !strings.HasPrefix(e.Exit, "exit status 0") {
		return Noticed
	}
	return SilentLoss
}

// printToNobody shows what happens to a whole program, as the signal makes of it.
func printToNobody(ctx context.Context, s *stage) error {
	for _, handling := range []string{"default", "ignored"} {
		e, err := printWith(ctx, handling)
		if err != nil {
			return err
		}
		advice := "The signal ended the program at its first print, without a word: a server that must clean up ignores SIGPIPE and handles the error."
		if !e.Signal {
			advice = "With the signal ignored the print fails with EPIPE, and the program ends as it chooses. Do not report the failure on the pipe that failed."
		}
		if err := s.fault("stdout/"+handling, judgePrint(e), e, advice); err != nil {
			return err
		}
	}
	return nil
}

func printWith(ctx context.Context, handling string) (Print, error) {
	e := Print{Handling: handling}
	a, err := actor.Prepare(ctx, "talker", handling == "ignored")
	if err != nil {
		return e, err
	}
	defer a.Dismiss()
	r, w, err := os.Pipe()
	if err != nil {
		return e, err
	}
	var words strings.Builder
	a.Cmd.Stdout, a.Cmd.Stderr = w, &words
	err = r.Close()
	if err == nil {
		err = a.Start()
	}
	w.Close()
	if err != nil {
		return e, err
	}
	exit := a.Wait()
	var status *exec.ExitError
	if exit != nil && !errors.As(exit, &status) {
		return e, exit
	}
	e.Exit = a.Cmd.ProcessState.String()
	e.Signal = a.Cmd.ProcessState.ExitCode() < 0
	e.Stderr = strings.TrimSpace(words.String())
	return e, nil
}

// playTalker prints until that fails.
func playTalker(s *actor.Stage) error {
	var ignore bool
	if err := s.Args(&ignore); err != nil {
		return err
	}
	if ignore {
		signal.Ignore(syscall.SIGPIPE)
	}
	for range 100 {
		if _, err := fmt.Println("is anybody there?"); err != nil {
			return err
		}
	}
	return nil
}
