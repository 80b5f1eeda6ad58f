package main

import (
	"fmt"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

type serveFlags struct {
	options      mcp.Options
	parseErrorID string
	toolErrors   string
	messages     string
	record       string
	logLevel     slog.Level
}

func (f *serveFlags) register(cmd *cobra.Command) {
	cmd.Long += "\n\n| fault | the server |\n|---|---|"
	for _, fault := range catalogue.Faults() {
		cmd.Long += fmt.Sprintf("\n| %s | %s |", fault.Usage(), fault.Title)
	}
	flags := cmd.Flags()
	o := &f.options
	addParsed(cmd, &o.Framing, "framing", "ndjson", framers.Parse,
		"how messages are told apart: "+framingUsage)
	flags.BoolVar(&o.Lenient, "lenient", false, "skip malformed lines of a header (content-length)")
	addParsed(cmd, &o.MaxMessage, "max-message", "", sizeOr(unlimited),
		"the largest request, such as 10MiB; unlimited (default 10MiB, with --fault unlimited)")
	inflight := countFlag{usual: mcp.DefaultMaxInFlight, least: 1, most: mostInflight}
	addCount(cmd, &o.MaxInFlight, "inflight", inflight,
		"requests served at a time; 1 MiB of others wait, more stay in the pipe")
	addChoice(cmd, &f.parseErrorID, "parse-error-id", []string{"empty", "null"},
		`id of the answer to what has none: empty ("") or null`)
	addChoice(cmd, &f.toolErrors, "tool-errors", []string{"result", "jsonrpc"},
		"what a failing tool gives: result (isError) or jsonrpc (an error of code -32603)")
	addTimeout(cmd, &o.ToolTimeout, "tool-timeout", mcp.DefaultToolTimeout,
		"for one call; 0 for none")
	addTimeout(cmd, &o.EOFGrace, "eof-grace", mcp.DefaultEOFGrace,
		"how long what was asked may go on when stdin has ended")
	addTimeout(cmd, &o.FlushTimeout, "flush-timeout", mcp.DefaultFlushTimeout,
		"how long answers may then take to be written")
	addTimeout(cmd, &o.ShutdownTimeout, "shutdown-timeout", mcp.DefaultShutdownTimeout,
		"for all of that together")
	addDuration(cmd, &o.Wait, "frame-wait", 0,
		"choose the size of frames so that a small answer waits about this long for a large one")
	flags.BoolVar(&o.StrictLifecycle, "strict-lifecycle", false,
		"answer nothing but ping before initialize")
	flags.BoolVar(&o.ChangingTools, "changing-tools", false,
		"have a list of tools that changes: the tool change_tools tells of it")
	addParsed(cmd, &o.Fault, "fault", "", mcp.ParseFault, "misbehave, as listed above")
	flags.StringVar(&f.messages, "messages", "",
		"answer from a recording (see tap), or a file of both sides' messages, one a line")
	flags.StringVar(&f.record, "record", "",
		"append what passes to this file, arguments and all, as tap does")
	flags.TextVar(&f.logLevel, "log-level", slog.LevelWarn,
		"debug, info, warn or error; info tells how the session ended")
	complete(cmd, map[string][]string{"log-level": logLevels})
}

func (f *serveFlags) run(cmd *cobra.Command, _ []string) error {
	o := f.serverOptions(cmd)
	if f.messages != "" {
		messages, err := interruptibly(cmd.Context(), f.messages, payload.ReadMessages)
		if err != nil {
			return err
		}
		o.Playback, err = mcp.NewPlayback(messages)
		if err != nil {
			return err
		}
	}
	if f.record != "" {
		file, err := interruptibly(cmd.Context(), f.record, createRecording)
		if err != nil {
			return err
		}
		defer file.Close()
		o.Run, err = results.NewRun()
		if err != nil {
			return err
		}
		o.Record = results.NewWriter(file)
		err = o.Record.Write(describeRun(o.Run, noSeed))
		if err != nil {
			return err
		}
	}
	atTerminal(cmd, "waiting for a client's messages on standard input, a line each; "+
		"the end of input (Ctrl-D) ends it")
	// Let a write to a client that has left fail, instead of ending the process.
	signal.Ignore(syscall.SIGPIPE)
	s, err := mcp.Start(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), o)
	if err != nil {
		return usageError(err)
	}
	return s.Wait()
}

func (f *serveFlags) serverOptions(cmd *cobra.Command) mcp.Options {
	o := f.options
	o.Version = machine.Version()
	o.Tools = mcp.Samples()
	o.Stderr = cmd.ErrOrStderr()
	o.Logger = slog.New(slog.NewTextHandler(o.Stderr, &slog.HandlerOptions{Level: f.logLevel}))
	o.ToolErrorsAsRPC = f.toolErrors == "jsonrpc"
	o.NullParseErrorID = f.parseErrorID == "null"
	return o
}
