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

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// When a reader closes its end: before, during or after a write.
const (
	Before = "before"
	During = "during"
	After  = "after"
)

// ReaderClosed is the evidence of reader-gone: what a writer gets when its reader closes its end.
type ReaderClosed struct {
	Summarised
	Pipe      string `json:"pipe"`
	IO        string `json:"io"`
	When      string `json:"when"`
	Offered   int64  `json:"offered"`         // bytes of the write
	Accepted  int64  `json:"accepted"`        // by the kernel, says the writer's return value
	Read      int64  `json:"read"`            // by the reader, before it closed
	Broken    bool   `json:"broken"`          // the write said that the reader had gone
	Error     string `json:"error,omitempty"` // of the write
	NextError string `json:"next_error,omitempty"`

	// NoticedNS is the time from the close to the error, of this write or the next.
	NoticedNS int64 `json:"noticed_ns"`
	// Signals counts SIGPIPE; it is absent where the system has none.
	Signals *int `json:"signals,omitempty"`
}

func (e *ReaderClosed) judge() (Verdict, string) {
	verdict := Sound
	told := "no error"
	switch {
	case e.Broken:
		verdict = Noticed
		told = "EPIPE after " + results.FormatDuration(float64(e.NoticedNS))
	case e.NextError != "":
		told = "no error before the next write"
	}
	e.Summary = fmt.Sprintf("%s of %s accepted, %s read, %s",
		Size(e.Accepted), Size(e.Offered), Size(e.Read), told)
	if e.Signals != nil {
		e.Summary += fmt.Sprintf(", SIGPIPE ×%d", *e.Signals)
	}
	switch {
	case !e.Broken && e.Accepted > e.Read:
		return SilentLoss, advise("reader-gone, accepted and unread")
	case e.Signals != nil && *e.Signals > 0:
		return verdict, advise("reader-gone, told by a signal")
	}
	return verdict, advise("reader-gone, told")
}

func runReaderGone(ctx context.Context, r *recorder) error {
	for _, kind := range syspipe.Pipes() {
		if err := closeReadersOf(ctx, r, kind); err != nil {
			return err
		}
	}
	for _, handling := range []string{"default", "ignored"} {
		err := r.try("stdout/"+handling, func() (finding, error) {
			return printToNobody(ctx, handling)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// printToNobody runs a program that prints to a closed pipe, to see what SIGPIPE makes of a whole
// program.
func printToNobody(ctx context.Context, handling string) (*Printer, error) {
	p, err := proc.Self("faults/printer", handling == "ignored")
	if err != nil {
		return nil, err
	}
	defer p.Close()
	r, err := p.Pipe(1)
	if err != nil {
		return nil, err
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	if err := awaitExit(p); err != nil {
		return nil, err
	}
	state := p.Cmd.ProcessState
	return &Printer{
		Handling: handling,
		Exit:     state.String(),
		Signal:   state.ExitCode() < 0,
		Stderr:   p.Stderr().String(),
	}, nil
}

type closingReaderArgs struct{ Kind, IO string }

// closeReadersOf closes readers of one kind of pipe, for each way in which a writer waits.
func closeReadersOf(ctx context.Context, r *recorder, kind syspipe.Kind) error {
	if err := kind.Supported(); err != nil {
		return r.recordUnsupported(string(kind), err)
	}
	for _, wait := range syspipe.IOs() {
		r.step("%s, %s", kind, wait)
		part := fmt.Sprintf("%s/%s", kind, wait)
		err := canWait(kind, wait)
		if errors.Is(err, errors.ErrUnsupported) {
			err = r.recordUnsupported(part, err)
		} else {
			// Another error shows again in the process that does the work.
			err = closeReaders(ctx, r, part, closingReaderArgs{string(kind), wait.String()})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// canWait fails if the system cannot have a writer wait in that way at that kind of pipe.
func canWait(kind syspipe.Kind, wait syspipe.IO) error {
	if err := wait.Supported(); err != nil {
		return err
	}
	w, r, err := OpenPipe(kind)
	if err != nil {
		return err
	}
	defer r.Close()
	defer w.Close()
	return w.SetIO(wait)
}

// closeReaders closes the reader before, during and after a write, in a process of its own.
func closeReaders(ctx context.Context, r *recorder, part string, args closingReaderArgs) error {
	p, err := start(ctx, "faults/closing-reader", args)
	if err != nil {
		return err
	}
	defer p.Close()
	for range 3 {
		var got ReaderClosed
		if err := p.Report(&got); err != nil {
			return err
		}
		if err := r.record(part+"/"+got.When, &got); err != nil {
			return err
		}
	}
	return p.Wait()
}

// closeReader holds both ends, so that one clock times the close and the error.
func closeReader(w *proc.Work, args closingReaderArgs) error {
	debug.SetGCPercent(-1) // a collection waits for threads in raw system calls
	wait, err := syspipe.ParseIO(args.IO)
	if err != nil {
		return err
	}
	signals := syspipe.CountSIGPIPE()
	for _, when := range []string{Before, During, After} {
		e, err := writeToClosing(syspipe.Kind(args.Kind), wait, when, signals)
		if err != nil {
			return err
		}
		if err := w.Report(e); err != nil {
			return err
		}
	}
	return nil
}

const (
	smallWrite = 4096    // bytes, fits every pipe
	largeWrite = 4 << 20 // fits none
	fewBytes   = 1024    // what the reader takes of a large write before it closes
)

// writeToClosing writes to a pipe whose reader closes its end at that time.
func writeToClosing(
	kind syspipe.Kind, wait syspipe.IO, when string, signals func() *int,
) (*ReaderClosed, error) {
	e := &ReaderClosed{Pipe: string(kind), IO: wait.String(), When: when, Offered: smallWrite}
	w, r, err := OpenPipe(kind)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	defer w.Close()
	if err := w.SetIO(wait); err != nil {
		return nil, err
	}
	signals() // forgets what came so far
	var closed time.Time
	switch when {
	case Before:
		closed = time.Now()
		r.Close()
		e.write(w, smallWrite)
	case During:
		closed, err = e.closeDuringWrite(w, r)
		if err != nil {
			return nil, err
		}
	case After:
		e.write(w, smallWrite)
		closed = time.Now()
		r.Close()
		_, err := w.Write(make([]byte, smallWrite))
		e.NextError = ErrorText(err)
	}
	e.NoticedNS = time.Since(closed).Nanoseconds()
	e.Signals = signals()
	return e, nil
}

// closeDuringWrite closes the reader in the middle of a large write, and returns when it did.
func (e *ReaderClosed) closeDuringWrite(w, r *syspipe.End) (closed time.Time, err error) {
	e.Offered = largeWrite
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(done)
		e.write(w, largeWrite)
	}()
	// Once these bytes are here the write is under way, and it cannot end.
	read, err := io.ReadFull(r, make([]byte, fewBytes))
	closed = time.Now()
	r.Close()
	<-done
	e.Read = int64(read)
	return closed, err
}

// write offers n bytes and notes what came of it.
func (e *ReaderClosed) write(w *syspipe.End, n int) {
	accepted, err := w.Write(make([]byte, n))
	e.Accepted = int64(accepted)
	e.Error = ErrorText(err)
	e.Broken = errors.Is(err, syscall.EPIPE)
}

// Printer is the evidence of reader-gone/stdout: a program that prints to a standard output nobody
// reads.
type Printer struct {
	Summarised
	Handling string `json:"handling"` // of SIGPIPE: "default" or "ignored"
	Exit     string `json:"exit"`     // how it ended, in the system's words
	Signal   bool   `json:"signal"`   // killed by a signal
	Stderr   string `json:"stderr,omitempty"`
}

func (e *Printer) judge() (Verdict, string) {
	e.Summary = "SIGPIPE " + e.Handling + ": " + e.Exit
	switch {
	case e.Signal:
		return Noticed, advise("reader-gone, ended by the signal")
	case !strings.HasPrefix(e.Exit, "exit status 0"):
		return Noticed, advise("reader-gone, signal ignored")
	}
	return SilentLoss, advise("reader-gone, signal ignored")
}

// printUntilError prints until that fails.
func printUntilError(_ *proc.Work, ignore bool) error {
	if ignore {
		signal.Ignore(syscall.SIGPIPE)
	}
	for range 100 {
		if _, err := fmt.Fprintln(os.Stdout, "is anybody there?"); err != nil {
			return err
		}
	}
	return nil
}

// awaitExit waits until a process has ended, with whatever exit code.
func awaitExit(p *proc.Process) error {
	err := p.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		return nil
	}
	return err
}
