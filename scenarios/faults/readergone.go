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
	"github.com/pipebench/pipebench/syspipe/script"
)

// When a reader closes its end, beside a write.
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
	NoticedNS int64  `json:"noticed_ns"`        // from the close to the error, of this write or the next
	Signals   *int   `json:"signals,omitempty"` // SIGPIPE received; absent where the system has none
}

func (e *ReaderClosed) judge() (Verdict, string) {
	const accepted = "The count that comes with the error is what the kernel took, not what was read. "
	verdict := Sound
	switch {
	case !e.Broken && e.Accepted > e.Read:
		return SilentLoss, "A write that fits the pipe succeeds although nobody will ever read it; the error comes with the next one. " +
			"Only an answer from the other side tells that a message arrived: await one for what must not be lost."
	case e.Broken:
		verdict = Noticed
	}
	if e.Signals != nil && *e.Signals > 0 {
		return verdict, accepted + "The kernel also sent SIGPIPE, which ends a program that does not handle it before it sees the error: " +
			"ignore the signal, treat EPIPE as the end of the conversation, and do not log to the same pipe."
	}
	return verdict, accepted + "Treat the error as the end of the conversation."
}

func (e *ReaderClosed) summarise() {
	s := fmt.Sprintf("%s of %s accepted, %s read", Size(e.Accepted), Size(e.Offered), Size(e.Read))
	switch {
	case e.Broken:
		s += ", EPIPE after " + results.FormatDuration(float64(e.NoticedNS))
	case e.NextError != "":
		s += ", no error before the next write"
	default:
		s += ", no error"
	}
	if e.Signals != nil {
		s += fmt.Sprintf(", SIGPIPE ×%d", *e.Signals)
	}
	e.Summary = s
}

func runReaderGone(ctx context.Context, r *recorder) {
	for _, kind := range syspipe.Kinds() {
		if err := kind.Supported(); err != nil {
			r.unsupported(string(kind), err)
			continue
		}
		for _, wait := range syspipe.IOs() {
			r.step("%s, %s", kind, wait)
			closeReaders(ctx, r, kind, wait)
		}
	}
	for _, handling := range []string{"default", "ignored"} {
		r.try("stdout/"+handling, func() finding { return printToNobody(ctx, handling) })
	}
}

type closingReaderArgs struct{ Kind, IO string }

type closingReaderReport struct {
	ReaderClosed
	Unsupported string
}

// closeReaders closes the reader before, during and after a write, in a process of its own.
func closeReaders(ctx context.Context, r *recorder, kind syspipe.Kind, wait syspipe.IO) {
	part := fmt.Sprintf("%s/%s", kind, wait)
	if err := wait.Supported(); err != nil {
		r.unsupported(part, err)
		return
	}
	p := start(ctx, "faults/closing-reader", closingReaderArgs{string(kind), wait.String()})
	defer p.Close()
	for range 3 {
		var got closingReaderReport
		script.Check(p.Report(&got))
		if got.Unsupported != "" {
			r.unsupported(part, errors.New(got.Unsupported))
			return
		}
		r.report(part+"/"+got.When, &got.ReaderClosed)
	}
	script.Check(p.Wait())
}

// closeReader holds both ends, so that one clock times the close and the error.
func closeReader(w *proc.Work, args closingReaderArgs) {
	debug.SetGCPercent(-1) // a collection waits for threads in raw system calls
	wait := script.Must(syspipe.ParseIO(args.IO))
	signals := newSignalCount()
	for _, when := range []string{Before, During, After} {
		got, err := script.Of(func() ReaderClosed { return writeToClosing(syspipe.Kind(args.Kind), wait, when, signals) })
		if errors.Is(err, errors.ErrUnsupported) {
			script.Check(w.Report(closingReaderReport{Unsupported: err.Error()}))
			return
		}
		script.Check(err)
		script.Check(w.Report(closingReaderReport{ReaderClosed: got}))
	}
}

const (
	smallWrite = 4096    // bytes, fits every pipe
	largeWrite = 4 << 20 // fits none
	fewBytes   = 1024    // what the reader takes of a large write before it closes
)

// writeToClosing writes to a pipe whose reader closes its end at that time.
func writeToClosing(kind syspipe.Kind, wait syspipe.IO, when string, signals *signalCount) ReaderClosed {
	e := ReaderClosed{Pipe: string(kind), IO: wait.String(), When: when, Offered: smallWrite}
	w, r, closeBoth := Open(kind)
	defer closeBoth()
	script.Check(w.SetIO(wait))
	signals.count() // forgets what came so far
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
		e.Read = int64(script.Must(io.ReadFull(r, make([]byte, fewBytes)))) // so the write is under way, and cannot end
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
	e.Signals = signals.count()
	return e
}

// write offers n bytes and notes what came of it.
func (e *ReaderClosed) write(w *syspipe.End, n int) {
	accepted, err := w.Write(make([]byte, n))
	e.Accepted = int64(accepted)
	if err != nil {
		e.Error = err.Error()
	}
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
	const ignored = "With the signal ignored the print fails with EPIPE, and the program ends as it chooses. Do not report the failure on the pipe that failed."
	switch {
	case e.Signal:
		return Noticed, "The signal ended the program at its first print, without a word: a server that must clean up ignores SIGPIPE and handles the error."
	case !strings.HasPrefix(e.Exit, "exit status 0"):
		return Noticed, ignored
	}
	return SilentLoss, ignored
}

func (e *Printer) summarise() { e.Summary = "SIGPIPE " + e.Handling + ": " + e.Exit }

// printToNobody shows what the signal makes of a whole program.
func printToNobody(ctx context.Context, handling string) *Printer {
	p := script.Must(proc.Self("faults/printer", handling == "ignored"))
	defer p.Close()
	r := script.Must(p.Pipe(1))
	script.Check(errors.Join(r.Close(), p.Start(ctx)))
	awaitExit(p)
	state := p.Cmd.ProcessState
	return &Printer{Handling: handling, Exit: state.String(), Signal: state.ExitCode() < 0, Stderr: p.Stderr().String()}
}

// printUntilError prints until that fails.
func printUntilError(_ *proc.Work, ignore bool) {
	if ignore {
		signal.Ignore(syscall.SIGPIPE)
	}
	for range 100 {
		script.Must(fmt.Fprintln(os.Stdout, "is anybody there?"))
	}
}

// awaitExit waits until a process has ended, with whatever exit code.
func awaitExit(p *proc.Process) {
	if err := p.Wait(); !errors.As(err, new(*exec.ExitError)) {
		script.Check(err)
	}
}
