// Command pipebench measures the pipes through which programs talk, and the framings of their
// messages.
//
//	pipebench run                     five framings through real pipes, in 20 seconds
//	pipebench run --size 4KiB..1MiB --framing ndjson,chunked --chunk 4KiB..60KiB
//	pipebench report pipebench-out/*/results.jsonl -o pictures
//	pipebench probe --failures        how stdio fails, reproduced
//	pipebench probe --claims          common claims about stdio, judged here
//	pipebench help values
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/failures"
	"github.com/pipebench/pipebench/scenarios/rules"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func main() {
	work()
	if err := errors.Join(enoughDescriptors(), enoughMemory()); err != nil {
		writeNotice(os.Stderr, "pipebench: "+err.Error())
		os.Exit(exitFailed)
	}
	os.Exit(run(interruptible(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// work does a job and exits, if another pipebench process started this one for a job.
func work() {
	proc.Main(bench.Jobs(), rules.Jobs(), failures.Jobs())
}

// spareDescriptors is how many files this process must still be able to open. The Go runtime
// crashes if it cannot open any.
const spareDescriptors = 8

// enoughDescriptors returns an error if the process cannot open spareDescriptors more files.
func enoughDescriptors() error {
	for range spareDescriptors {
		fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY, 0)
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			return fmt.Errorf(
				"it may open too few files (%w): raise the limit, as with ulimit -n 256", err)
		}
		defer syscall.Close(fd) // harmless if Open failed for another reason
	}
	return nil
}

// cleanUpTime is how long the program may run after a second signal, to end its processes and
// remove its folders.
const cleanUpTime = 10 * time.Second

var errInterrupted = errors.New("interrupted")

// interruptible returns a context that the first signal ends, with the cause errInterrupted. A
// second signal ends the process within cleanUpTime.
func interruptible() context.Context {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup makes a process ignore it
		signals = append(signals, syscall.SIGHUP)
	}
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, signals...)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		<-caught
		cancel(errInterrupted)
		<-caught
		time.Sleep(cleanUpTime)
		os.Exit(exitInterrupted)
	}()
	return ctx
}

// run runs the command that args name, and returns the exit code of the process.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &output{Writer: stdout}
	root := newRoot(args...)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = out.failed
	}
	return exitCode(ctx, err, stderr)
}

// An output remembers the first write that failed, so that the command fails even if it ignored the
// error. A write to a reader that has left does not count.
type output struct {
	io.Writer
	failed error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil && o.failed == nil && !syspipe.ReaderLeft(err) {
		o.failed = fmt.Errorf("print: %w", err)
	}
	return n, err
}

// Fd returns the descriptor of the file that is written to. If the output is no file, it returns a
// number that no descriptor has.
func (o *output) Fd() uintptr {
	if file, ok := o.Writer.(*os.File); ok {
		return file.Fd()
	}
	return ^uintptr(0)
}

// newRoot makes the root command with all other commands. If args are given, only the commands that
// args name get their flags, because adding flags takes time.
func newRoot(args ...string) *cobra.Command {
	root := withHelp("pipebench")
	root.Version = machine.Version()
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return usageError(unknownCommand(args[0]))
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.SetFlagErrorFunc(flagError)
	for _, group := range commandGroups {
		for _, row := range group.commands {
			wanted := len(args) == 0 || slices.Contains(args, row.name)
			root.AddCommand(newCommand(row, wanted))
		}
	}
	root.AddCommand(newSpecimenCommand())
	addTopic(root, "values", "Names of framings, pipes, placements, faults and claims", writeValues)
	addGuides(root)
	addHelpCommand(root)
	root.SetUsageFunc(writeUsage)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(cmd) })
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			// The only possible error is that the flag has a completion of its own, which it keeps.
			_ = cmd.RegisterFlagCompletionFunc(f.Name, completeNames(f.Name))
		})
	}
	return root
}

// Exit codes of every command.
const (
	exitDone         = 0   // also if a search for a limit found one
	exitFailed       = 1   // could not run
	exitUsage        = 2   // the user asked for something unknown or impossible
	exitGate         = 3   // a gate failed
	exitInconclusive = 4   // no verdict, where one was required
	exitInterrupted  = 130 // by the user; the file has what was finished
)

// A statusError is an error together with the exit code that it leads to.
type statusError struct {
	code int
	err  error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// usageError marks err as a mistake of the user, unless err is nil, has an exit code, comes from a
// system call, or says that this machine does not support something.
func usageError(err error) error {
	var hasCode *statusError
	var ofSystem syscall.Errno
	if err == nil || errors.As(err, &hasCode) || errors.As(err, &ofSystem) ||
		bench.IsUnsupported(err) {
		return err
	}
	return &statusError{exitUsage, err}
}

// exitCode writes err to stderr, if there is an error, and returns the code to exit with.
func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	if err == nil {
		return exitDone
	}
	code := exitFailed
	if status, ok := errors.AsType[*statusError](err); ok {
		code = status.code
	}
	if ctx.Err() != nil && code != exitInterrupted { // err only follows from the interruption
		err = errInterrupted
		code = exitInterrupted
	}
	text := err.Error()
	if errors.Is(err, view.ErrNothing) {
		text += " (pipebench report shows all)"
	}
	writeNotice(stderr, "pipebench: "+text)
	return code
}
