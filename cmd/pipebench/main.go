// Command pipebench measures the pipes that programs talk through, and the framings they talk in.
//
//	pipebench run                     five framings through real pipes, in half a minute
//	pipebench run --size 4KiB..1MiB --framing ndjson,chunked --chunk 4KiB..60KiB
//	pipebench plot pipebench-out/*/results.jsonl
//	pipebench run --scenario reader-gone
//	pipebench claims                  what documents say, judged here
//	pipebench list
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/results/view"
	"github.com/spf13/cobra"
)

func main() {
	bench.Worker()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program where it stands
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command but for the process around it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return exitCode(ctx, root.ExecuteContext(ctx), stderr)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "pipebench",
		Short: "Measure the pipes that programs talk through",
		Long: `pipebench drives framings (newline-delimited JSON, Content-Length headers, chunk
frames) through real pipes of this operating system, and says what each costs.`,
		Version:       machine.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				var names []string
				for _, c := range cmd.Commands() {
					if c.IsAvailableCommand() {
						names = append(names, c.Name())
					}
				}
				return usage(fmt.Errorf("unknown command %q; known are %s", args[0], strings.Join(names, ", ")))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
	})
	root.AddCommand(newRun(), newProbe(), newProfile(), newInspect(), newPlot(), newServe(), newCall(), newDrive(), newTap(), newTune(), newClaims(), newCompare(), newAB(), newDoctor(), newReport(), newList())
	root.AddCommand(newGuides()...)
	return root
}

// files demands at least one argument, a results file each.
func files(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage(errors.New("which file? give the results.jsonl of one run or more"))
	}
	return nil
}

// noArguments demands that there are none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Errorf("%s takes no arguments, but was given %q; see %[1]s --help", cmd.CommandPath(), args[0]))
	}
	return nil
}

// sharedFlags are those that mean the same for every command that has them.
type sharedFlags struct {
	out        string
	format     string
	quiet      bool
	noProgress bool
	seed       int64
	part       string // what lines of progress call a part of the work, "" for no name
}

func (f *sharedFlags) register(cmd *cobra.Command, out string) {
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", out)
	registerFormat(cmd, &f.format)
	flags.BoolVar(&f.quiet, "quiet", false, "print results alone: no progress, no warnings")
	flags.BoolVar(&f.noProgress, "no-progress", false, "no bars and no lines of progress")
	flags.Int64Var(&f.seed, "seed", 1, "of the messages and of the order of samples")
}

// registerFormat adds the flag of what is printed, and refuses what it cannot be.
func registerFormat(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", string(view.FormatTable), "of what is printed: "+strings.Join(formats(), ", "))
	cmd.PreRunE = func(*cobra.Command, []string) error {
		_, err := view.ParseFormat(*format)
		return usage(err)
	}
	complete(cmd, map[string][]string{"format": formats()})
}

func formats() []string {
	var names []string
	for _, f := range view.Formats() {
		names = append(names, string(f))
	}
	return names
}

// A parsed flag is read as soon as it is given: what it cannot be is an error of usage.
type parsed struct {
	set   func(string) error
	kind  string // of value, for the help
	given string
}

func (p *parsed) String() string { return p.given }
func (p *parsed) Type() string   { return p.kind }
func (p *parsed) Set(s string) error {
	p.given = s
	return p.set(s)
}

// addParsed adds a flag whose text parse turns into a value; an empty text leaves the value as it
// is.
func addParsed[T any](cmd *cobra.Command, into *T, name string, parse func(string) (T, error), usage string) {
	set := func(s string) (err error) {
		if s == "" {
			return nil
		}
		*into, err = parse(s)
		return err
	}
	cmd.Flags().Var(&parsed{set: set, kind: "string"}, name, usage)
}

// parsePrecision reads "2%" or "0.02" as 0.02.
func parsePrecision(s string) (float64, error) {
	v, err := parseShare(s)
	if err != nil || v == 0 || v >= 1 {
		return 0, fmt.Errorf("%q: want a share such as 2%%", s)
	}
	return v, nil
}

// noBench refuses the format of benchmarks for a command that has none to show.
func noBench(cmd *cobra.Command, format *string) {
	known := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if *format == string(view.FormatBench) {
			return usage(fmt.Errorf("--format bench is of measurements, and %s makes none: use table, markdown, csv or json", cmd.CommandPath()))
		}
		return known(cmd, args)
	}
}

// Exit codes of every command.
const (
	exitDone         = 0   // a limit that was looked for and found is an answer, not a failure
	exitFailed       = 1   // could not run
	exitUsage        = 2   // was asked for something it does not know
	exitGate         = 3   // a gate failed
	exitInconclusive = 4   // no verdict, where one was required
	exitInterrupted  = 130 // by the user; what was finished is in the file
)

// A statusError ends the command with a code of its own.
type statusError struct {
	code int
	err  error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// usage marks an error as the caller's: what was asked for cannot be. One that has a code of its
// own keeps it.
func usage(err error) error {
	var status *statusError
	if err == nil || errors.As(err, &status) {
		return err
	}
	return &statusError{exitUsage, err}
}

// unread marks an error of a file that was asked for rightly and cannot be read.
func unread(err error) error {
	if err == nil {
		return nil
	}
	return &statusError{exitFailed, err}
}

// exitCode reports err, if there is one, and gives the code to exit with.
func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	var status *statusError
	switch {
	case err == nil:
		return exitDone
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "pipebench: interrupted")
		return exitInterrupted
	case errors.As(err, &status):
		fmt.Fprintf(stderr, "pipebench: %v\n", err)
		return status.code
	}
	fmt.Fprintf(stderr, "pipebench: %v\n", err)
	return exitFailed
}
