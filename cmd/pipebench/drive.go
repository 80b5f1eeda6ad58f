package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/sweep"
	"github.com/pipebench/pipebench/scenarios/target"
	"github.com/pipebench/pipebench/syspipe"
)

// driveFlags are what drive was asked for, as it was typed.
type driveFlags struct {
	protocol, framing, tool, arg string

	sizes, capacity, smallPipe, chunk, pipe string
	pause, start, budget, maxTime           time.Duration

	inflight int
	rate     float64
	load     time.Duration

	messages  string
	faults    bool
	findLimit bool
	asserts   []string
	badge     bool
	shared    sharedFlags
}

func newDrive() *cobra.Command {
	f := &driveFlags{}
	cmd := &cobra.Command{
		Use:   "drive [flags] -- COMMAND [ARGUMENT...]",
		Short: "Load a real stdio server, and find the byte at which it breaks, and how",
		Long: `Start a command that speaks over stdin and stdout (MCP, LSP, bare JSON-RPC, or lines
like cat), find out which, and send it requests of growing size. The answer is how fast it
is, how its time grows with the size of a message, at which exact byte it breaks, and how:
with an error, a hang, a silent exit, a crash, or bytes that are not what was sent.

Nothing but the tool "echo" is ever called unless --tool names another: a tool may do
anything. Without one, a method that no server has is asked for, and has to be refused.`,
		Example: `  pipebench drive -- cat
  pipebench drive -- pipebench serve --fault deaf@1MiB
  pipebench drive --size 1KiB..4MiB --capacity 4KiB -- node server.js --stdio
  pipebench drive --inflight 64 --size 256,64KiB -- my-server
  pipebench drive --faults -- my-server
  pipebench drive --messages session.jsonl -- my-server
  pipebench drive --find-limit --size ..32MiB -- my-server
  pipebench drive --assert 'limit>=16MiB' --assert 'p99<50ms@64KiB' --assert 'slope<1.3' -- my-server`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("which command? put it behind --, as in: pipebench drive -- cat"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.drive(cmd, args) },
	}
	f.register(cmd)
	return cmd
}

func (f *driveFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.protocol, "protocol", "auto", "what it speaks: "+strings.Join(target.Protocols(), ", "))
	flags.StringVar(&f.framing, "framing", "", "how messages are told apart (default the protocol's own)")
	flags.StringVar(&f.tool, "tool", "", "the MCP tool to call (default echo, if there is one)")
	flags.StringVar(&f.arg, "arg", "", "the argument of the tool that takes the payload (default its first text)")
	flags.StringVar(&f.sizes, "size", "", "message sizes, such as 64KiB,1KiB..64MiB (default 1KiB..64MiB)")
	flags.StringVar(&f.pipe, "pipe", string(syspipe.Anonymous), "what its stdin and stdout are: anonymous or socketpair, as Node gives its children")
	flags.StringVar(&f.capacity, "capacity", "", "of the pipes (default the system's)")
	flags.StringVar(&f.smallPipe, "small-pipe", "4KiB", "capacity of the pipes in which growth is measured again; none")
	flags.StringVar(&f.chunk, "write-chunk", "", "bytes written at a time (default a message)")
	flags.DurationVar(&f.pause, "write-pause", 0, "between two of those")
	flags.DurationVar(&f.start, "start-timeout", 10*time.Second, "for the handshake")
	flags.DurationVar(&f.budget, "duration", 300*time.Millisecond, "of the measurement of one size, about")
	flags.DurationVar(&f.maxTime, "max-time", 0, "stop after this long, and show what was found (default none)")
	flags.IntVar(&f.inflight, "inflight", 0, "load it with so many unanswered requests at once, instead of the sweep")
	flags.Float64Var(&f.rate, "rate", 0, "load it with so many requests a second, due whether it answers or not, instead of the sweep")
	flags.DurationVar(&f.load, "load-time", 3*time.Second, "of --inflight and --rate")
	flags.StringVar(&f.messages, "messages", "", "replay the requests of a recording, or of a file with a message a line, instead of the sweep")
	flags.BoolVar(&f.faults, "faults", false, "put it through what bad clients and systems do, instead of the sweep:\n"+treatmentTable())
	flags.BoolVar(&f.findLimit, "find-limit", false, "search for the limits alone, to the byte")
	flags.StringArrayVar(&f.asserts, "assert", nil, "exit 3 unless this holds, such as 'limit>=16MiB'; may be repeated")
	flags.BoolVar(&f.badge, "badge", false, "print a line for the server's README, too")
	f.shared.register(cmd, "a folder for the files of the run (default pipebench-out/<time>)")
}

// options reads the flags that say how to speak to the server.
func (f *driveFlags) options(command []string) (target.Options, error) {
	o := target.Options{
		Command: command, Protocol: f.protocol, Framing: f.framing, Tool: f.tool, Arg: f.arg,
		WritePause: f.pause, Start: f.start, Budget: f.budget, Seed: f.shared.seed,
	}
	var err error
	if o.Pipe, err = syspipe.ParseKind(f.pipe); err != nil {
		return o, fmt.Errorf("--pipe: %w", err)
	}
	if o.Capacity, err = sizeFlag("capacity", f.capacity); err != nil {
		return o, err
	}
	if o.WriteChunk, err = sizeFlag("write-chunk", f.chunk); err != nil {
		return o, err
	}
	o.Run, err = results.NewRun()
	return o, err
}

// sizeFlag reads a size; 0 for "".
func sizeFlag(flag, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := results.ParseSize(text)
	if err != nil {
		return 0, fmt.Errorf("--%s: %w", flag, err)
	}
	return int(n), nil
}

// plan reads the flags that say what to find out.
func (f *driveFlags) plan() (target.Plan, error) {
	p := target.Plan{Limits: f.findLimit, NoSweep: f.findLimit}
	var err error
	if f.sizes != "" {
		if p.Sizes, err = sweep.ParseSizes(f.sizes); err != nil {
			return p, fmt.Errorf("--size: %w", err)
		}
	}
	if f.smallPipe == "none" {
		p.SmallPipe = -1
		return p, nil
	}
	p.SmallPipe, err = sizeFlag("small-pipe", f.smallPipe)
	return p, err
}

func (f *driveFlags) drive(cmd *cobra.Command, command []string) error {
	o, err := f.options(command)
	if err != nil {
		return usage(err)
	}
	plan, err := f.plan()
	if err != nil {
		return usage(err)
	}
	asserts, err := parseAsserts(f.asserts)
	if err != nil {
		return usage(err)
	}
	out, err := f.shared.openRun(o.Run)
	if err != nil {
		return err
	}
	ctx, cancel := f.bounded(cmd.Context())
	defer cancel()
	err = errors.Join(f.run(ctx, cmd.ErrOrStderr(), o, plan, out), out.Close())
	if errors.Is(context.Cause(ctx), errMaxTime) {
		fmt.Fprintln(cmd.ErrOrStderr(), "pipebench:", errMaxTime)
		err = nil
	}
	if shown := f.report(cmd, out.dir, asserts); !errors.Is(shown, results.ErrNothing) || err == nil {
		return errors.Join(err, shown)
	}
	return err
}

var errMaxTime = errors.New("--max-time is over: this is what was found by then")

func (f *driveFlags) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.maxTime <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, f.maxTime, errMaxTime)
}

// run drives the server and keeps what it finds.
func (f *driveFlags) run(ctx context.Context, stderr io.Writer, o target.Options, plan target.Plan, out *runFolder) error {
	d, err := target.Open(ctx, o)
	if err != nil {
		return unfit(err)
	}
	defer d.Close()
	f.say(stderr, "%s speaks %s in %s; sending %s", o.Command[0], d.Protocol(), d.Framing(), d.Request())
	keep := func(l results.Line) error {
		switch l := l.(type) {
		case results.Target:
			f.say(stderr, "%s", target.Line(l))
		case results.Fault:
			f.say(stderr, "%s: %s", l.ID, l.Verdict)
		}
		return out.Write(l)
	}
	switch {
	case f.faults:
		return d.Faults(ctx, keep)
	case f.messages != "":
		recording, err := target.ReadRecording(f.messages)
		if err != nil {
			return err
		}
		return d.Replay(ctx, recording, keep)
	case f.inflight > 0 || f.rate > 0:
		return f.loads(ctx, d, plan, keep)
	}
	return d.Drive(ctx, plan, keep)
}

func treatmentTable() string {
	var b strings.Builder
	for _, s := range target.Scenarios() {
		fmt.Fprintf(&b, "  %-18s %s\n", s.ID, s.Does)
	}
	return strings.TrimRight(b.String(), "\n")
}

// loads makes a load of each size.
func (f *driveFlags) loads(ctx context.Context, d *target.Driver, plan target.Plan, keep target.Keep) error {
	sizes := plan.Sizes
	if len(sizes) == 0 {
		sizes = []int{1 << 10}
	}
	for _, size := range sizes {
		if err := d.Load(ctx, target.Load{Size: size, Inflight: f.inflight, Rate: f.rate, Duration: f.load}, keep); err != nil {
			return err
		}
	}
	return nil
}

func (f *driveFlags) say(stderr io.Writer, format string, args ...any) {
	if !f.shared.quiet && !f.shared.noProgress {
		fmt.Fprintf(stderr, format+"\n", args...)
	}
}

// unfit gives a server that works at no size the exit code of a failed gate.
func unfit(err error) error {
	var unfit *target.UnfitError
	if !errors.As(err, &unfit) {
		return err
	}
	return &statusError{exitGate, fmt.Errorf("%w\n%s", err, unfit.Verdict.Advice())}
}

// report shows what the file says, and judges it.
func (f *driveFlags) report(cmd *cobra.Command, dir string, asserts []results.Assert) error {
	set, err := results.Read(filepath.Join(dir, recordsFile))
	if err != nil {
		return err
	}
	if err := target.View(cmd.OutOrStdout(), results.Format(f.shared.format), set); err != nil {
		return err
	}
	if f.badge {
		fmt.Fprintln(cmd.OutOrStdout(), "\n"+target.Badge(set))
	}
	drawn, err := draw(dir, set)
	if err != nil {
		return err
	}
	f.say(cmd.ErrOrStderr(), "kept in %s: %s and %d plots", dir, recordsFile, drawn)
	return judged(cmd.OutOrStdout(), set, asserts)
}

// judged prints how each assertion turned out. One that fails is a failed gate, and so is one that cannot be told: nobody may build on it.
func judged(w io.Writer, set *results.Set, asserts []results.Assert) error {
	var failed []string
	for _, a := range asserts {
		j := target.Judge(a, set)
		line := fmt.Sprintf("assert %s: %s", j.Assert, j.Outcome)
		if j.Why != "" {
			line += ": " + j.Why
		}
		fmt.Fprintln(w, line)
		if j.Outcome != results.Holds {
			failed = append(failed, j.Assert)
		}
	}
	switch {
	case len(failed) > 0:
		return &statusError{exitGate, fmt.Errorf("not as asserted: %s", strings.Join(failed, ", "))}
	case target.Hopeless(set):
		return &statusError{exitGate, errors.New("the server fails at every size")}
	}
	return nil
}

func parseAsserts(texts []string) ([]results.Assert, error) {
	var out []results.Assert
	for _, text := range texts {
		a, err := results.ParseAssert(text)
		if err != nil {
			return nil, fmt.Errorf("--assert: %w", err)
		}
		out = append(out, a)
	}
	return out, nil
}
