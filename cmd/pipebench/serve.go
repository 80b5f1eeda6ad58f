package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcpstdio"
	"github.com/pipebench/pipebench/syspipe/script"
)

// serveFlags are what serve was asked for, as it was typed.
type serveFlags struct {
	options                                    mcpstdio.Options
	parseErrorID, toolErrors, messages, record string
	logLevel                                   slog.Level
}

func (f *serveFlags) register(cmd *cobra.Command) {
	cmd.Long += "\n"
	for _, m := range catalogue.Of(catalogue.Server) {
		cmd.Long += fmt.Sprintf("\n  %-23s %s", m.Usage(), m.Title)
	}
	flags, o := cmd.Flags(), &f.options
	addParsed(cmd, &o.Framing, "framing", "ndjson", framers.Parse, "how messages are told apart: "+framingUsage)
	addParsed(cmd, &o.MaxMessage, "max-message", "", sizeOr("unlimited"), "the largest request, such as 10MiB; unlimited (default 10MiB, with --fault unlimited)")
	addCount(cmd, &o.MaxInFlight, "inflight", mcpstdio.DefaultMaxInFlight, 1, mostInflight, "requests served at a time; 1 MiB of others wait, more stay in the pipe")
	addChoice(cmd, &f.parseErrorID, "parse-error-id", []string{"empty", "null"}, `id of the answer to what has none: empty ("") or null`)
	addChoice(cmd, &f.toolErrors, "tool-errors", []string{"result", "jsonrpc"}, "what a failing tool gives: result (isError) or jsonrpc (an error of code -32603)")
	flags.DurationVar(&o.ToolTimeout, "tool-timeout", mcpstdio.DefaultToolTimeout, "for one call; 0 for none")
	flags.DurationVar(&o.EOFGrace, "eof-grace", mcpstdio.DefaultEOFGrace, "how long what was asked may go on when stdin has ended")
	flags.DurationVar(&o.FlushTimeout, "flush-timeout", mcpstdio.DefaultFlushTimeout, "how long answers may then take to be written")
	flags.DurationVar(&o.ShutdownTimeout, "shutdown-timeout", mcpstdio.DefaultShutdownTimeout, "for all of that together")
	flags.BoolVar(&o.StrictLifecycle, "strict-lifecycle", false, "answer nothing but ping before initialize")
	flags.BoolVar(&o.Fixtures, "conformance", false, "offer the tools that MCP's conformance suite calls, too")
	addParsed(cmd, &o.Fault, "fault", "", mcpstdio.ParseFault, "misbehave, as listed above")
	flags.StringVar(&f.messages, "messages", "", "answer from a recording (see tap), or a file of both sides' messages, one a line")
	flags.StringVar(&f.record, "record", "", "append what passes to this file, arguments and all, as tap does")
	flags.TextVar(&f.logLevel, "log-level", slog.LevelInfo, "debug, info, warn or error")
	complete(cmd, map[string][]string{"framing": callFramings, "log-level": logLevels})
}

func (f *serveFlags) run(cmd *cobra.Command, _ []string) {
	o := f.options
	o.Version, o.Tools, o.Stderr = machine.Version(), mcpstdio.Samples(), cmd.ErrOrStderr()
	o.Logger = slog.New(slog.NewTextHandler(o.Stderr, &slog.HandlerOptions{Level: f.logLevel}))
	o.ToolTimeout, o.EOFGrace = cmp.Or(o.ToolTimeout, -1), cmp.Or(o.EOFGrace, -1) // in Go 0 is the default
	o.FlushTimeout, o.ShutdownTimeout = cmp.Or(o.FlushTimeout, -1), cmp.Or(o.ShutdownTimeout, -1)
	o.ToolErrorsAsRPC = f.toolErrors == "jsonrpc"
	if o.ParseErrorID = jsonrpc.Empty; f.parseErrorID == "null" {
		o.ParseErrorID = jsonrpc.Null
	}
	if f.messages != "" {
		messages := script.Must(interruptibly(cmd.Context(), f.messages, payload.ReadMessages))
		o.Playback = script.Must(mcpstdio.NewPlayback(messages))
	}
	if f.record != "" {
		file := script.Must(interruptibly(cmd.Context(), f.record, createRecording))
		defer file.Close()
		o.Run, o.Record = script.Must(results.NewRun()), results.NewWriter(file)
		script.Check(o.Record.Write(describeRun(o.Run, 0)))
	}
	atTerminal(cmd, "waiting for a client's messages on standard input, a line each; the end of input (Ctrl-D) ends it")
	signal.Ignore(syscall.SIGPIPE) // a client that closes stdout is an error of a write, not the end of the process
	s, err := mcpstdio.NewServer(cmd.InOrStdin(), cmd.OutOrStdout(), o)
	script.Check(usage(err))
	script.Check(s.Start(cmd.Context()))
	script.Check(s.Wait())
}
