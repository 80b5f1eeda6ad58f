package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/measure"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/script"
)

// driveFlags are what drive was asked for, as it was typed.
type driveFlags struct {
	options       drive.Options
	plan          drive.Plan
	load          drive.Load
	messages      string
	recording     []payload.Message
	ignore        []string
	faults, badge bool
	against       []string // a command
	gateFlags
	sharedFlags
}

func (f *driveFlags) register(cmd *cobra.Command) {
	flags, o := cmd.Flags(), &f.options
	flags.StringVar(&o.Protocol, "protocol", "auto", "what it speaks: "+strings.Join(drive.Protocols(), ", "))
	flags.StringVar(&o.Framing, "framing", "", "how messages are told apart (default the protocol's own)")
	flags.StringVar(&o.Request, "request", drive.RequestAuto, `what requests exercise: unknown (a method that no server has: the transport alone), tool (MCP), document (LSP: didOpen, documentSymbol, didClose), or auto: the tool echo if there is one, else unknown`)
	flags.StringVar(&o.Tool, "tool", "", "the MCP tool to call (default echo, if there is one)")
	flags.StringVar(&o.Arg, "arg", "", "the argument of the tool that takes the payload (default its first text)")
	flags.StringVar(&o.Args, "tool-args", "", `the other arguments of --tool, a JSON object such as '{"mode":"fast"}'`)
	flags.StringVar(&o.ReplyTool, "reply-tool", "", `the MCP tool that makes replies of a size, for their limit (default the echo as far as requests go, then one called like get_large_data that takes a number of bytes)`)
	flags.StringVar(&o.ReplyArg, "reply-arg", "", "the argument of that tool that says how much (default its first number)")
	flags.StringVar(&o.ReplyArgs, "reply-args", "", "the other arguments of --reply-tool, a JSON object")
	flags.StringVar(&o.Language, "language", "", "of --request document, as LSP calls it (default tried: "+strings.Join(drive.Languages(), ", ")+")")
	addList(cmd, &f.plan.Sizes, "size", "", measure.ParseSizes, "message sizes, such as 64KiB,1KiB..64MiB (default 1KiB..64MiB)")
	addParsed(cmd, &o.Pipe, "pipe", string(syspipe.Anonymous), syspipe.ParseKind, "what its stdin and stdout are: anonymous or socketpair, as Node gives its children")
	addParsed(cmd, &o.Capacity, "capacity", "", parseSize, "of the pipes (default the system's)")
	addParsed(cmd, &f.plan.SmallPipe, "small-pipe", "4KiB", sizeOr("none"), "capacity of the pipes in which growth is measured again; none")
	addParsed(cmd, &o.WriteChunk, "write-chunk", "", parseSize, "bytes written at a time (default a message)")
	addDuration(cmd, &o.WritePause, "write-pause", 0, "between two of those")
	addDuration(cmd, &o.Start, "start-timeout", 10*time.Second, "for the handshake, thrice as long while the server is at work, and for its first requests")
	addDuration(cmd, &o.Patience, "patience", time.Second, "the shortest reply timeout; larger messages have more, by what smaller ones took")
	addDuration(cmd, &o.Budget, "duration", 300*time.Millisecond, "of the measurement of one size, about")
	addCount(cmd, &f.load.Inflight, "inflight", 0, 0, mostInflight, "load it with so many unanswered requests at once, instead of the sweep")
	flags.Float64Var(&f.load.Rate, "rate", 0, "load it with so many requests a second, due whether it answers or not, instead of the sweep")
	addDuration(cmd, &f.load.Duration, "load-time", 3*time.Second, "of --inflight and --rate")
	flags.StringVar(&f.messages, "messages", "", "replay the requests of a recording (see tap), or of a file with a message a line, instead of the sweep")
	flags.StringSliceVar(&f.ignore, "ignore", nil, "members of recorded answers that may differ in a replay")
	flags.BoolVar(&f.faults, "faults", false, "put it through what bad clients and systems do (list names each), instead of the sweep")
	addParsed(cmd, &f.against, "against", "", shellwords.Parse, "another server's command, in one word: both are loaded in turns and compared, with a verdict for each size")
	f.registerFailAbove(cmd, "of --against: ")
	flags.BoolVar(&f.plan.Limits, "find-limit", false, "search for the limits alone, to the byte")
	f.registerAsserts(cmd, "exit 3 unless this holds, such as 'limit>=16MiB', and 4 where it cannot be told")
	flags.BoolVar(&f.badge, "badge", false, "print a line for the server's README, too")
	for _, load := range []string{"inflight", "rate"} { // which go together
		cmd.MarkFlagsMutuallyExclusive("find-limit", "faults", "messages", load)
		cmd.MarkFlagsMutuallyExclusive("against", "faults", "messages", load)
	}
	f.sharedFlags.register(cmd, 0, "stop after this long, and show what was found (default 2m for the sweep, else none)")
	complete(cmd, map[string][]string{
		"protocol": drive.Protocols(),
		"request":  drive.Requests(),
		"language": drive.Languages(),
		"pipe":     {string(syspipe.Anonymous), string(syspipe.SocketPair)},
	})
}

// sweepTime bounds a sweep, and a search for limits, for which no time was given: a server that is
// slow at large messages may take hours.
const sweepTime = 2 * time.Minute

func (f *driveFlags) run(cmd *cobra.Command, command []string) {
	f.options.Command, f.plan.NoSweep = command, f.plan.Limits
	for _, a := range f.asserts {
		f.plan.Demand(a)
	}
	for _, size := range f.plan.Sizes {
		f.options.MaxReply = max(f.options.MaxReply, 256<<20, 2*size)
	}
	if sweeps := !f.faults && f.messages == "" && f.load.Inflight == 0 && f.load.Rate == 0; sweeps && f.maxTime == 0 {
		f.maxTime = sweepTime
	}
	script.Check(usage(errors.Join(f.options.Validate(), f.load.Validate())))
	if f.messages != "" {
		f.recording = script.Must(interruptibly(cmd.Context(), f.messages, payload.ReadMessages))
	}
	var c *stat.Comparison // with the other server
	f.measure(cmd, task{
		maxTime: f.maxTime, work: f.drive,
		show: func(_, own *results.Set) {
			if c = f.comparison(own); c != nil {
				script.Check(view.WriteComparison(cmd.OutOrStdout(), c, f.format, viewOptions(cmd, f.detail)))
				return
			}
			script.Check(view.WriteDrive(cmd.OutOrStdout(), f.format, own, viewOptions(cmd, f.detail)))
			if f.badge {
				fmt.Fprintln(beside(cmd, f.format), "\n"+view.Badge(own))
			}
		},
		gate: func(_ error, own *results.Set) {
			asserted, failed := f.judge(cmd, f.format, own), drive.AllFailed(own)
			if c != nil {
				failed = f.judgeChanges(c)
			} else if failed != nil { // no message works with it
				failed = &statusError{exitGate, failed}
			}
			script.Check(allGates(asserted, failed))
		},
	})
}

// comparison sets the server against the other one; nil where there is none.
func (f *driveFlags) comparison(own *results.Set) *stat.Comparison {
	if f.against == nil {
		return nil
	}
	before, after := stat.PairServers(own)
	demand(len(before) > 0, view.ErrNothing)
	oldName, newName := strings.Join(f.against, " "), strings.Join(f.options.Command, " ")
	c := script.Must(stat.ComparePairs(before, after, stat.CompareOptions{}))
	c.Old, c.New = oldName, newName
	return c
}

// withAdvice adds to the error of a server that cannot be spoken to what to look at first.
func withAdvice(err error) error {
	if e, ok := errors.AsType[*drive.HandshakeError](err); ok {
		return fmt.Errorf("%w\n%s", err, e.Advice())
	}
	return err
}

// unfit is withAdvice. If something was asserted it is a failed gate: the server works at no size.
func (f *driveFlags) unfit(err error) error {
	if _, ok := errors.AsType[*drive.HandshakeError](err); ok && len(f.asserts) > 0 {
		return &statusError{exitGate, withAdvice(err)}
	}
	return withAdvice(err)
}

// drive is a script. It drives the server and keeps what it finds.
func (f *driveFlags) drive(ctx context.Context, s *session) {
	f.options.Run, f.options.Observe = s.run, s.progress.step
	d, err := drive.Open(ctx, f.options)
	script.Check(f.unfit(err))
	defer d.Close()
	s.progress.note(fmt.Sprintf("%s speaks %s in %s; sending %s", f.options.Command[0], d.Protocol(), d.Framing(), d.Request()))
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
		script.Check(d.Faults(ctx, keep))
	case f.against != nil:
		o := f.options
		o.Command = f.against
		other, err := drive.Open(ctx, o)
		script.Check(f.unfit(err))
		defer other.Close()
		script.Check(drive.Against(ctx, other, d, f.plan, keep))
	case f.messages != "":
		script.Check(d.Replay(ctx, f.recording, keep, f.ignore...))
	case f.load.Inflight > 0 || f.load.Rate > 0:
		sizes := f.plan.Sizes
		if len(sizes) == 0 {
			sizes = []int{0} // the usual one
		}
		for _, f.load.Size = range sizes {
			script.Check(d.Load(ctx, f.load, keep))
		}
	default:
		script.Check(d.Drive(ctx, f.plan, keep))
	}
}
