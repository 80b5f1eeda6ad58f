package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/scenarios/measure"
	"github.com/pipebench/pipebench/syspipe"
)

// driveFlags are what drive was asked for, as it was typed.
type driveFlags struct {
	protocol, framing, request, language string
	tool, arg, args                      string
	replyTool, replyArg, replyArgs       string

	sizes                                   []int
	smallPipe, pipe                         string
	capacity, chunk                         int64
	pause, start, patience, budget, maxTime time.Duration

	inflight int
	rate     float64
	load     time.Duration

	messages  string
	recording []payload.Message
	faults    bool
	findLimit bool
	badge     bool
	assertFlags
	shared sharedFlags
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

Of the tools of a server "echo" is called, and for the limit of replies one that makes
nothing but bytes, such as get_large_data; no other unless --tool or --reply-tool names it: a
tool may do anything. Without one, a method that no server has is asked for, and has to be
refused.`,
		Example: `  pipebench drive -- cat
  pipebench drive -- pipebench serve --fault deaf@1MiB
  pipebench drive --size 1KiB..4MiB --capacity 4KiB -- node server.js --stdio
  pipebench drive --inflight 64 --size 256,64KiB -- my-server
  pipebench drive --faults -- my-server
  pipebench drive --messages session.jsonl -- my-server
  pipebench drive --request document -- gopls serve
  pipebench drive --find-limit --reply-tool render --reply-arg rows -- my-server
  pipebench drive --find-limit --size 32MiB -- my-server
  pipebench drive --assert 'limit>=16MiB' --assert 'p99<50ms@64KiB' --assert 'slope<1.3' -- my-server`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("which command? put it behind --, as in: pipebench drive -- cat"))
			}
			return usage(cmd.ValidateFlagGroups())
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.drive(cmd, args) },
	}
	f.register(cmd)
	return cmd
}

func (f *driveFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.protocol, "protocol", "auto", "what it speaks: "+strings.Join(drive.Protocols(), ", "))
	flags.StringVar(&f.framing, "framing", "", "how messages are told apart (default the protocol's own)")
	flags.StringVar(&f.request, "request", drive.RequestAuto, `what requests exercise: unknown (a method that no server has: the transport alone), tool (MCP),
document (LSP: didOpen, documentSymbol, didClose), or auto: the tool echo if there is one, else unknown`)
	flags.StringVar(&f.tool, "tool", "", "the MCP tool to call (default echo, if there is one)")
	flags.StringVar(&f.arg, "arg", "", "the argument of the tool that takes the payload (default its first text)")
	flags.StringVar(&f.args, "tool-args", "", `the other arguments of --tool, a JSON object such as '{"mode":"fast"}'`)
	flags.StringVar(&f.replyTool, "reply-tool", "", `the MCP tool that makes replies of a size, for their limit
(default the echo as far as requests go, then one called like get_large_data that takes a number of bytes)`)
	flags.StringVar(&f.replyArg, "reply-arg", "", "the argument of that tool that says how much (default its first number)")
	flags.StringVar(&f.replyArgs, "reply-args", "", "the other arguments of --reply-tool, a JSON object")
	flags.StringVar(&f.language, "language", "", "of --request document, as LSP calls it (default tried: "+strings.Join(drive.Languages(), ", ")+")")
	addParsed(cmd, &f.sizes, "size", measure.ParseSizes, "message sizes, such as 64KiB,1KiB..64MiB (default 1KiB..64MiB)")
	flags.StringVar(&f.pipe, "pipe", string(syspipe.Anonymous), "what its stdin and stdout are: anonymous or socketpair, as Node gives its children")
	addParsed(cmd, &f.capacity, "capacity", results.ParseSize, "of the pipes (default the system's)")
	flags.StringVar(&f.smallPipe, "small-pipe", "4KiB", "capacity of the pipes in which growth is measured again; none")
	addParsed(cmd, &f.chunk, "write-chunk", results.ParseSize, "bytes written at a time (default a message)")
	flags.DurationVar(&f.pause, "write-pause", 0, "between two of those")
	flags.DurationVar(&f.start, "start-timeout", 10*time.Second, "for the handshake")
	flags.DurationVar(&f.patience, "patience", time.Second, "the least time that an answer has; larger messages have more, by what smaller ones took")
	flags.DurationVar(&f.budget, "duration", 300*time.Millisecond, "of the measurement of one size, about")
	flags.DurationVar(&f.maxTime, "max-time", 0, "stop after this long, and show what was found (default none)")
	flags.IntVar(&f.inflight, "inflight", 0, "load it with so many unanswered requests at once, instead of the sweep")
	flags.Float64Var(&f.rate, "rate", 0, "load it with so many requests a second, due whether it answers or not, instead of the sweep")
	flags.DurationVar(&f.load, "load-time", 3*time.Second, "of --inflight and --rate")
	flags.StringVar(&f.messages, "messages", "", "replay the requests of a recording (see tap), or of a file with a message a line, instead of the sweep")
	flags.BoolVar(&f.faults, "faults", false, "put it through what bad clients and systems do, instead of the sweep:\n"+misbehaviours(catalogue.Client, 18))
	flags.BoolVar(&f.findLimit, "find-limit", false, "search for the limits alone, to the byte")
	f.registerAsserts(cmd, "exit 3 unless this holds, such as 'limit>=16MiB', and 4 where it cannot be told")
	flags.BoolVar(&f.badge, "badge", false, "print a line for the server's README, too")
	for _, load := range []string{"inflight", "rate"} { // which go together
		cmd.MarkFlagsMutuallyExclusive("find-limit", "faults", "messages", load)
	}
	f.shared.register(cmd, "a folder for the files of the run (default pipebench-out/<time>)")
	noBench(cmd, &f.shared.format)
	complete(cmd, map[string][]string{
		"protocol": drive.Protocols(),
		"request":  drive.Requests(),
		"language": drive.Languages(),
		"pipe":     {string(syspipe.Anonymous), string(syspipe.SocketPair)},
	})
}

// options reads the flags that say how to speak to the server.
func (f *driveFlags) options(command []string) (drive.Options, error) {
	o := drive.Options{
		Command: command, Protocol: f.protocol, Framing: f.framing,
		Request: f.request, Language: f.language,
		Tool: f.tool, Arg: f.arg, Args: f.args, ReplyTool: f.replyTool, ReplyArg: f.replyArg, ReplyArgs: f.replyArgs,
		Capacity: int(f.capacity), WriteChunk: int(f.chunk), WritePause: f.pause, Start: f.start, Patience: f.patience, Budget: f.budget, Seed: f.shared.seed,
	}
	var err error
	if o.Pipe, err = syspipe.ParseKind(f.pipe); err != nil {
		return o, fmt.Errorf("--pipe: %w", err)
	}
	if o.Run, err = results.NewRun(); err != nil {
		return o, err
	}
	return o, o.Validate()
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
func (f *driveFlags) plan() (drive.Plan, error) {
	p := drive.Plan{Sizes: f.sizes, Limits: f.findLimit, NoSweep: f.findLimit}
	err := f.asLoad().Validate()
	if err != nil {
		return p, err
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
	if errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err != nil {
		return usage(err)
	}
	plan, err := f.plan()
	if err != nil {
		return usage(err)
	}
	for _, a := range f.asserts {
		plan.Demand(a)
	}
	if f.messages != "" {
		if f.recording, err = payload.ReadMessages(f.messages); err != nil {
			return err
		}
	}
	return f.shared.measure(cmd, task{
		run: o.Run, maxTime: f.maxTime,
		work: func(ctx context.Context, s *session) error { return f.run(ctx, s, o, plan) },
		show: func(_, own *results.Set) error {
			err := view.WriteDrive(cmd.OutOrStdout(), view.Format(f.shared.format), own)
			if err == nil && f.badge {
				fmt.Fprintln(beside(cmd, f.shared.format), "\n"+view.Badge(own))
			}
			return err
		},
		gate: func(_ error, own *results.Set) error {
			gate := evaluateAsserts(cmd, f.shared.format, f.asserts, func(a stat.Assert) stat.Assertion { return a.Evaluate(own) })
			if err := drive.AllFailed(own); err != nil { // no message works with it
				return allGates(gate, &statusError{exitGate, err})
			}
			return gate
		},
	})
}

// run drives the server and keeps what it finds.
func (f *driveFlags) run(ctx context.Context, s *session, o drive.Options, plan drive.Plan) error {
	d, err := drive.Open(ctx, o)
	if err != nil {
		var unfit *drive.HandshakeError
		if errors.As(err, &unfit) { // it works at no size: a failed gate
			return &statusError{exitGate, fmt.Errorf("%w\n%s", err, unfit.Advice())}
		}
		return err
	}
	defer d.Close()
	s.progress.note(fmt.Sprintf("%s speaks %s in %s; sending %s", o.Command[0], d.Protocol(), d.Framing(), d.Request()))
	keep := func(l results.Line) error {
		switch l := l.(type) {
		case results.Target:
			s.progress.note(view.TargetLine(l))
		case results.Fault:
			s.progress.note(l.ID + ": " + l.Verdict)
		}
		return s.Write(l)
	}
	switch {
	case f.faults:
		return d.Faults(ctx, keep)
	case f.messages != "":
		return d.Replay(ctx, f.recording, keep)
	case f.inflight > 0 || f.rate > 0:
		return f.loads(ctx, d, plan, keep)
	}
	return d.Drive(ctx, plan, keep)
}

// asLoad returns what --inflight and --rate ask for.
func (f *driveFlags) asLoad() drive.Load {
	return drive.Load{Inflight: f.inflight, Rate: f.rate, Duration: f.load}
}

// loads makes a load of each size.
func (f *driveFlags) loads(ctx context.Context, d *drive.Driver, plan drive.Plan, keep drive.Sink) error {
	sizes := plan.Sizes
	if len(sizes) == 0 {
		sizes = []int{1 << 10}
	}
	for _, size := range sizes {
		l := f.asLoad()
		l.Size = size
		if err := d.Load(ctx, l, keep); err != nil {
			return err
		}
	}
	return nil
}
