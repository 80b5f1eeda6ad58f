package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/measure"
	"github.com/pipebench/pipebench/syspipe"
)

type driveFlags struct {
	options   drive.Options
	plan      drive.Plan
	load      drive.Load
	messages  string
	recording []payload.Message
	ignore    []string
	step      string // not a flag: what drive is doing, named in the error after --max-time
	assertFlags
	sharedFlags
}

func (f *driveFlags) register(cmd *cobra.Command) {
	f.registerRequests(cmd)
	f.registerPipes(cmd)
	flags := cmd.Flags()
	o := &f.options
	addDuration(cmd, &o.Start, "start-timeout", 10*time.Second,
		"deadline of the first requests and of the handshake, which has three times as long while "+
			"the server is at work")
	addDuration(cmd, &o.Patience, "patience", time.Second,
		"the shortest reply timeout; larger messages have more, by what smaller ones took")
	addDuration(cmd, &o.Budget, "duration", 300*time.Millisecond,
		"about how long one size is measured")
	addCount(cmd, &f.load.Inflight, "inflight", countFlag{most: mostInflight},
		"load it with this many unanswered requests at once, instead of the sweep")
	flags.Float64Var(&f.load.Rate, "rate", 0,
		"load it with this many requests per second, due whether it answers or not, "+
			"instead of the sweep")
	addDuration(cmd, &f.load.Duration, "load-time", 3*time.Second,
		"how long --inflight or --rate load it")
	flags.StringVar(&f.messages, "messages", "",
		"replay the requests of a recording (see tap), or of a file with a message per line, "+
			"instead of the sweep")
	flags.StringSliceVar(&f.ignore, "ignore", nil,
		"members of recorded answers that may differ in a replay")
	flags.BoolVar(&f.plan.Limits, "find-limit", false, "search for the limits alone, to the byte")
	f.registerAsserts(cmd,
		"exit 3 unless this holds, such as 'limit>=16MiB', and 4 where it cannot be told")
	for _, load := range []string{"inflight", "rate"} { // these two may be given together
		cmd.MarkFlagsMutuallyExclusive("messages", load)
	}
	cmd.MarkFlagsMutuallyExclusive("find-limit", "messages")
	f.sharedFlags.register(cmd, noMaxTime,
		"stop after this long, and show what was found "+
			"(default 2m for the sweep and for --find-limit, else none)")
	complete(cmd, map[string][]string{
		"protocol": drive.Protocols(),
		"request":  drive.Requests(),
		"language": drive.Languages(),
		"pipe":     {string(syspipe.Anonymous), string(syspipe.SocketPair)},
	})
}

// registerRequests adds the flags for the server's protocol and its requests.
func (f *driveFlags) registerRequests(cmd *cobra.Command) {
	flags := cmd.Flags()
	o := &f.options
	flags.StringVar(&o.Protocol, "protocol", "auto",
		"what it speaks: "+strings.Join(drive.Protocols(), ", "))
	flags.StringVar(&o.Framing, "framing", "",
		"how messages are told apart (default found out, or the protocol's own)")
	flags.BoolVar(&o.Lenient, "lenient", false, "skip malformed lines of a header (content-length)")
	flags.StringVar(&o.Request, "request", drive.RequestAuto,
		"what requests exercise: unknown (a method that no server has: the transport alone), tool "+
			"(MCP), document (LSP: didOpen, documentSymbol, didClose), or auto: the tool echo if "+
			"there is one, else unknown")
	flags.StringVar(&o.Tool, "tool", "", "the MCP tool to call (default echo, if there is one)")
	flags.StringVar(&o.Arg, "arg", "",
		"the argument of the tool that takes the payload (default its first text)")
	flags.StringVar(&o.Args, "tool-args", "",
		`the other arguments of --tool, a JSON object such as '{"mode":"fast"}'`)
	flags.StringVar(&o.ReplyTool, "reply-tool", "",
		"the MCP tool that makes replies of a size, for their limit (default the echo as far as "+
			"requests go, then one called like get_large_data that takes a number of bytes)")
	flags.StringVar(&o.ReplyArg, "reply-arg", "",
		"the argument of that tool that says how much (default its first number)")
	flags.StringVar(&o.Language, "language", "",
		"language of --request document, as LSP names it, such as "+
			strings.Join(drive.Languages(), ", "))
	addList(cmd, &f.plan.Sizes, "size", measure.ParseSizes,
		"message sizes, such as 64KiB,1KiB..64MiB (default 1KiB..64MiB)")
}

// registerPipes adds the flags for the pipes between pipebench and the server.
func (f *driveFlags) registerPipes(cmd *cobra.Command) {
	o := &f.options
	addParsed(cmd, &o.Pipe, "pipe", string(syspipe.Anonymous), syspipe.ParseKind,
		"what its stdin and stdout are: anonymous or socketpair, as Node gives its children")
	addParsed(cmd, &o.Capacity, "capacity", "", parseSize,
		"capacity of the pipes in bytes (default the system's)")
	addParsed(cmd, &f.plan.SmallPipe, "small-pipe", "4KiB", sizeOr("none"),
		"measure again, through pipes of this capacity, how CPU time grows with size; none: do not")
}

// sweepTime is the default time limit. Without a limit, a server that is slow at large messages
// would take hours.
const sweepTime = 2 * time.Minute

func (f *driveFlags) run(cmd *cobra.Command, command []string) error {
	f.options.Command = command
	for _, a := range f.asserts {
		f.plan.Demand(int(a.Size), a.Observations())
	}
	for _, size := range f.plan.Sizes { // an echo with escapes is larger than its request
		f.options.MaxReply = max(f.options.MaxReply, 256<<20, 3*size)
	}
	if f.plan.Limits && f.isLoad() {
		return usageError(errors.New("--find-limit sends one request at a time: " +
			"give a load its sizes, as in --inflight 8 --size 1KiB,256KiB"))
	}
	isSweep := f.messages == "" && !f.isLoad() // also true for a search for limits
	if isSweep && f.maxTime == 0 {
		f.maxTime = sweepTime
	}
	if err := errors.Join(f.options.Validate(), f.load.Validate()); err != nil {
		return usageError(err)
	}
	if f.messages != "" {
		recording, err := interruptibly(cmd.Context(), f.messages, payload.ReadMessages)
		if err != nil {
			return err
		}
		f.recording = recording
	}
	err := f.do(cmd, nil, task{
		limit:   f.maxTime,
		measure: f.drive,
		show: func(found *results.Set) error {
			warnOfHiddenFlush(cmd, command)
			return view.WriteDrive(cmd.OutOrStdout(), f.format, found, viewOptions(cmd, f.detail))
		},
		gate: func(found *results.Set) error {
			return allGates(f.judge(cmd, f.format, found), driveGate(found))
		},
	})
	if errors.Is(err, errNothingInTime) {
		err = fmt.Errorf("nothing was measured in the time: it was over while %s", f.step)
		found := &results.Set{} // empty, but --assert has a verdict all the same
		return allGates(f.judge(cmd, f.format, found), err)
	}
	return err
}

// isLoad reports whether the flags ask to load the server (--inflight, --rate).
func (f *driveFlags) isLoad() bool { return f.load.Inflight > 0 || f.load.Rate > 0 }

// driveGate returns an error if the server failed, or if it is not known whether the server fails.
func driveGate(found *results.Set) error {
	if err := drive.Failed(found); err != nil {
		return &statusError{exitGate, err}
	}
	if err := drive.Undecided(found); err != nil {
		return &statusError{exitInconclusive, err}
	}
	return nil
}

// withAdvice adds to the error of a failed handshake a sentence about what to look at first. If the
// server failed, or if failing to speak to it fails a gate, the exit code says so.
func withAdvice(err error, isGate bool) error {
	err = usageOfOptions(err)
	handshake, ok := errors.AsType[*drive.HandshakeError](err)
	if !ok {
		return err
	}
	err = fmt.Errorf("%w\n%s", err, handshake.Advice())
	if isGate || handshake.Failed() {
		return &statusError{exitGate, fmt.Errorf("FAIL: %w", err)}
	}
	return err
}

// usageOfOptions marks an error about the options as a mistake of the user.
func usageOfOptions(err error) error {
	if _, ok := errors.AsType[drive.OptionError](err); ok {
		return usageError(err)
	}
	return err
}

func (f *driveFlags) drive(ctx context.Context, s *session) error {
	f.options.Run = s.run
	f.options.Recording = f.messages
	show := s.progress.step
	f.options.Observe = func(step string) {
		f.step = step
		show(step)
	}
	d, err := drive.Open(ctx, f.options)
	if err != nil { // the server works at no size, so no assertion holds
		return withAdvice(err, len(f.asserts) > 0)
	}
	defer d.Close()
	f.step = "requests were sent" // until Observe is called for the first time
	sending := d.Request()
	if f.messages != "" {
		sending = "the messages of " + f.messages
	}
	s.progress.say(fmt.Sprintf("%s (process %d) speaks %s in %s; sending %s",
		f.options.Command[0], d.PID(), d.Protocol(), d.Framing(), sending))
	keep := func(line results.Line) error {
		if target, ok := line.(results.Target); ok {
			s.progress.note(view.TargetLine(target))
		}
		return s.Write(line)
	}
	switch {
	case f.messages != "":
		show = s.progress.say // a server that hangs makes each step long
		err := d.Replay(ctx, f.recording, keep, f.ignore...)
		return wrap("--messages "+f.messages, usageOfOptions(err))
	case f.isLoad():
		return usageOfOptions(f.loadSizes(ctx, d, keep))
	case f.plan.Limits:
		largest := slices.Max(append([]int{0}, f.plan.Sizes...)) // 0: the usual largest size
		_, err := d.FindLimits(ctx, largest, keep)
		return err
	}
	return d.Drive(ctx, f.plan, keep)
}

func (f *driveFlags) loadSizes(ctx context.Context, d *drive.Driver, keep drive.Sink) error {
	sizes := f.plan.Sizes
	if len(sizes) == 0 {
		sizes = []int{0} // 0: the usual size
	}
	for _, size := range sizes {
		load := f.load
		load.Size = size
		if err := d.Load(ctx, load, keep); err != nil {
			return err
		}
	}
	return nil
}
