package faults

import (
	"bufio"
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
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// When a reader closes its end, beside a write.
const Before, During, After = "before", "during", "after"

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
	verdict, told := Sound, "no error"
	switch {
	case e.Broken:
		verdict, told = Noticed, "EPIPE after "+results.FormatDuration(float64(e.NoticedNS))
	case e.NextError != "":
		told = "no error before the next write"
	}
	e.Summary = fmt.Sprintf("%s of %s accepted, %s read, %s", Size(e.Accepted), Size(e.Offered), Size(e.Read), told)
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

func runReaderGone(ctx context.Context, r *recorder) {
	for _, kind := range syspipe.Pipes() {
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
		r.try("stdout/"+handling, func() finding { // what the signal makes of a whole program
			p := script.Must(proc.Self("faults/printer", handling == "ignored"))
			defer p.Close()
			r := script.Must(p.Pipe(1))
			script.Check(errors.Join(r.Close(), p.Start(ctx)))
			awaitExit(p)
			state := p.Cmd.ProcessState
			return &Printer{Handling: handling, Exit: state.String(), Signal: state.ExitCode() < 0, Stderr: p.Stderr().String()}
		})
	}
}

type closingReaderArgs struct{ Kind, IO string }

// closeReaders closes the reader before, during and after a write, in a process of its own.
func closeReaders(ctx context.Context, r *recorder, kind syspipe.Kind, wait syspipe.IO) {
	part := fmt.Sprintf("%s/%s", kind, wait)
	err := script.Run(func() {
		script.Check(wait.Supported())
		w, _, closeBoth := Open(kind)
		defer closeBoth()
		script.Check(w.SetIO(wait))
	})
	if errors.Is(err, errors.ErrUnsupported) {
		r.unsupported(part, err)
		return
	}
	p := start(ctx, "faults/closing-reader", closingReaderArgs{string(kind), wait.String()})
	defer p.Close()
	for range 3 {
		var got ReaderClosed
		script.Check(p.Report(&got))
		r.report(part+"/"+got.When, &got)
	}
	script.Check(p.Wait())
}

// closeReader holds both ends, so that one clock times the close and the error.
func closeReader(w *proc.Work, args closingReaderArgs) {
	debug.SetGCPercent(-1) // a collection waits for threads in raw system calls
	wait := script.Must(syspipe.ParseIO(args.IO))
	signals := syspipe.CountSIGPIPE()
	for _, when := range []string{Before, During, After} {
		script.Check(w.Report(writeToClosing(syspipe.Kind(args.Kind), wait, when, signals)))
	}
}

const (
	smallWrite = 4096    // bytes, fits every pipe
	largeWrite = 4 << 20 // fits none
	fewBytes   = 1024    // what the reader takes of a large write before it closes
)

// writeToClosing writes to a pipe whose reader closes its end at that time.
func writeToClosing(kind syspipe.Kind, wait syspipe.IO, when string, signals func() *int) ReaderClosed {
	e := ReaderClosed{Pipe: string(kind), IO: wait.String(), When: when, Offered: smallWrite}
	w, r, closeBoth := Open(kind)
	defer closeBoth()
	script.Check(w.SetIO(wait))
	signals() // forgets what came so far
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
		_, err := w.Write(make([]byte, smallWrite))
		e.NextError = ErrorText(err)
	}
	e.NoticedNS = time.Since(closed).Nanoseconds()
	e.Signals = signals()
	return e
}

// write offers n bytes and notes what came of it.
func (e *ReaderClosed) write(w *syspipe.End, n int) {
	accepted, err := w.Write(make([]byte, n))
	e.Accepted, e.Error, e.Broken = int64(accepted), ErrorText(err), errors.Is(err, syscall.EPIPE)
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

// Orphan is the evidence of orphan.
type Orphan struct {
	Summarised
	Server       string  `json:"server"` // "reads", "deaf" or "busy"
	Exited       bool    `json:"exited"` // by itself, within GiveUpNS of its client's death
	ExitNS       int64   `json:"exit_ns,omitempty"`
	GiveUpNS     int64   `json:"give_up_ns"`
	FailedWrites float64 `json:"failed_writes_per_s,omitempty"` // since the client's death
}

func (e *Orphan) judge() (Verdict, string) {
	e.Summary = fmt.Sprintf("still there after %s", time.Duration(e.GiveUpNS))
	switch {
	case e.Exited:
		e.Summary = "left " + results.FormatDuration(float64(e.ExitNS)) + " after its client"
		return Sound, advise("orphan, left")
	case e.FailedWrites > 0:
		e.Summary += fmt.Sprintf(", %.1f million failed writes a second", e.FailedWrites/1e6)
		return Orphaned, advise("orphan, busy", e.FailedWrites)
	}
	return Orphaned, advise("orphan, not reading")
}

func runOrphan(ctx context.Context, r *recorder) {
	for _, server := range []string{"reads", "deaf", "busy"} {
		r.try(server, func() finding { return killClient(ctx, server) })
	}
}

// killClient starts a client that starts a server, kills the client, and watches the server, whose
// leash and reports are held here.
func killClient(ctx context.Context, kind string) *Orphan {
	limit := giveUp
	if kind == "reads" {
		limit = 10 * giveUp // it is about to leave, however slow the machine is
	}
	e := &Orphan{Server: kind, GiveUpNS: limit.Nanoseconds()}
	server, leash, report, err := proc.Remote("the server")
	script.Check(err)
	defer server.Close()
	client := start(ctx, "faults/client", kind, leash, report)
	defer client.Close()
	var failedWrites float64 // a second
	script.Check(server.Report(&failedWrites))
	killed := time.Now()
	client.Close()

	last := make(chan error, 1)
	go func() { last <- server.Report(&failedWrites) }()
	select {
	case err = <-last:
		e.Exited, e.ExitNS = true, time.Since(killed).Nanoseconds()
		if errors.Is(err, io.EOF) {
			return e
		}
	case <-time.After(limit):
		server.Release() // its last report tells what it did meanwhile
		err = <-last
		e.FailedWrites = failedWrites
	}
	script.Check(err)
	return e
}

// startServer starts the server on the leash and reports that it was given, and waits to be killed.
func startServer(w *proc.Work, kind string) {
	server := script.Must(proc.SelfOn(w.Ends[0], w.Ends[1], "faults/server", kind))
	script.Must(server.Pipe(0))
	out := script.Must(server.Pipe(1))
	script.Check(server.Start(context.Background()))
	io.Copy(io.Discard, out) // as a client does, as long as it lives
	w.Linger()
}

// serveLines is the server: it reads and answers lines, reads nothing ("deaf"), or writes without
// end whatever comes of it ("busy").
func serveLines(w *proc.Work, kind string) {
	var failed atomic.Int64
	var first time.Time // failed write
	if kind != "reads" {
		w.OnRelease(func() {
			rate := 0.0
			if n := failed.Load(); n > 0 {
				rate = float64(n) / time.Since(first).Seconds()
			}
			w.Report(rate)
		})
	}
	if kind == "busy" {
		signal.Ignore(syscall.SIGPIPE)
	}
	script.Check(w.Report(0)) // ready
	switch kind {
	case "deaf":
		w.Linger()
	case "busy":
		for {
			if _, err := fmt.Println("still here"); err != nil {
				if failed.Load() == 0 {
					first = time.Now()
				}
				failed.Add(1)
			}
		}
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(lines.Text())
	}
	script.Check(lines.Err())
}
