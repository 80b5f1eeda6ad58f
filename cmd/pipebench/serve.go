package main

import (
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcpstdio"
)

// serveFlags are what serve was asked for, as it was typed.
type serveFlags struct {
	framing, maxMessage, parseErrorID, toolErrors, fault, messages, logLevel string

	toolTimeout, flushTimeout, shutdownTimeout, grace time.Duration
	inflight                                          int
	strict                                            bool
}

func newServe() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Be an MCP server on stdin and stdout, a good one or one with a fault",
		Long: `Serve MCP on stdin and stdout until stdin ends: a fixed weather report, an echo, and tools that
tests of clients need. Nothing but the protocol goes to stdout; logs go to stderr.

With --messages it answers as the server of a recording did: the same request gets the same
answer, another of its method the next of them. Of a recording without bodies the answers
have the recorded sizes, and the handshake is the server's own.

With --fault the server misbehaves on purpose, so that a client can be tested:

` + misbehaviours(catalogue.Server, 23) + "\n",
		Example: `  pipebench serve
  printf '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' | pipebench serve
  pipebench serve --framing content-length --max-message 1MiB
  pipebench serve --fault deaf@1MiB
  pipebench serve --messages session.jsonl
  pipebench drive -- pipebench serve --fault truncate-at-exit`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd) },
	}
	f.register(cmd)
	return cmd
}

func (f *serveFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.framing, "framing", "ndjson", "how messages are told apart: ndjson, content-length, chunked, adaptive")
	flags.StringVar(&f.maxMessage, "max-message", "", "the largest request, such as 10MiB; unlimited (default 10MiB, with --fault unlimited)")
	flags.IntVar(&f.inflight, "inflight", mcpstdio.DefaultMaxInFlight, "requests served at a time; 1 MiB of others wait, more stay in the pipe")
	flags.StringVar(&f.parseErrorID, "parse-error-id", "empty", `id of the answer to what has none: empty ("") or null`)
	flags.StringVar(&f.toolErrors, "tool-errors", "result", "what a failing tool gives: result (isError) or jsonrpc (an error of code -32603)")
	flags.DurationVar(&f.toolTimeout, "tool-timeout", mcpstdio.DefaultToolTimeout, "for one call; 0 for none")
	flags.DurationVar(&f.grace, "eof-grace", mcpstdio.DefaultEOFGrace, "how long what was asked may go on when stdin has ended")
	flags.DurationVar(&f.flushTimeout, "flush-timeout", mcpstdio.DefaultFlushTimeout, "how long answers may then take to be written")
	flags.DurationVar(&f.shutdownTimeout, "shutdown-timeout", mcpstdio.DefaultShutdownTimeout, "for all of that together")
	flags.BoolVar(&f.strict, "strict-lifecycle", false, "answer nothing but ping before initialize")
	flags.StringVar(&f.fault, "fault", "", "misbehave, as listed above")
	flags.StringVar(&f.messages, "messages", "", "answer from a recording (see tap), or a file of both sides' messages, one a line")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	var faults []string
	for _, m := range catalogue.Of(catalogue.Server) {
		faults = append(faults, m.Usage()+"\t"+m.Title)
	}
	complete(cmd, map[string][]string{
		"framing":        callFramings,
		"parse-error-id": {"empty", "null"},
		"tool-errors":    {"result", "jsonrpc"},
		"log-level":      {"debug", "info", "warn", "error"},
		"fault":          faults,
	})
}

// complete teaches the shell the values of flags. Each flag exists, so there is no error.
func complete(cmd *cobra.Command, flags map[string][]string) {
	for flag, values := range flags {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

func (f *serveFlags) serve(cmd *cobra.Command) error {
	opts, err := f.options(cmd.ErrOrStderr())
	if err != nil {
		return usage(err)
	}
	if f.messages != "" {
		messages, err := payload.ReadMessages(f.messages)
		if err != nil {
			return err
		}
		if opts.Playback, err = mcpstdio.NewPlayback(messages); err != nil {
			return err
		}
	}
	signal.Ignore(syscall.SIGPIPE) // a client that closes stdout is an error of a write, not the end of the process
	s, err := mcpstdio.NewServer(cmd.InOrStdin(), cmd.OutOrStdout(), opts)
	if err != nil {
		return usage(err)
	}
	if err := s.Start(cmd.Context()); err != nil {
		return err
	}
	return s.Wait()
}

// options reads the flags, and reports the first that makes no sense.
func (f *serveFlags) options(stderr io.Writer) (mcpstdio.Options, error) {
	o := mcpstdio.Options{
		Version: machine.Version(), Tools: mcpstdio.Samples(), Stderr: stderr,
		MaxInFlight: f.inflight, StrictLifecycle: f.strict, ToolErrorsAsRPC: f.toolErrors == "jsonrpc",
		ToolTimeout: orNone(f.toolTimeout), EOFGrace: orNone(f.grace),
		FlushTimeout: orNone(f.flushTimeout), ShutdownTimeout: orNone(f.shutdownTimeout),
		ParseErrorID: jsonrpc.Empty,
	}
	if f.parseErrorID == "null" {
		o.ParseErrorID = jsonrpc.Null
	}
	if err := oneOf("parse-error-id", f.parseErrorID, "empty", "null"); err != nil {
		return o, err
	}
	if err := oneOf("tool-errors", f.toolErrors, "result", "jsonrpc"); err != nil {
		return o, err
	}
	if f.inflight < 1 {
		return o, fmt.Errorf("--inflight %d: want at least 1", f.inflight)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return o, fmt.Errorf("--log-level %q: want debug, info, warn or error", f.logLevel)
	}
	o.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	return o, f.wire(&o)
}

// wire reads what concerns the bytes.
func (f *serveFlags) wire(o *mcpstdio.Options) (err error) {
	if o.Framing, err = framers.Parse(f.framing); err != nil {
		return fmt.Errorf("--framing: %w", err)
	}
	if f.fault != "" {
		if o.Fault, err = mcpstdio.ParseFault(f.fault); err != nil {
			return fmt.Errorf("--fault: %w", err)
		}
	}
	o.MaxMessage, err = messageLimit("max-message", f.maxMessage)
	return err
}

// messageLimit reads the size of a limit: 0 for "", -1 for "unlimited".
func messageLimit(flag, size string) (int, error) {
	switch size {
	case "":
		return 0, nil
	case "unlimited":
		return -1, nil
	}
	n, err := results.ParseSize(size)
	if err == nil && n < 1 {
		err = fmt.Errorf("%q leaves room for no message", size)
	}
	if err != nil {
		return 0, fmt.Errorf("--%s: %w", flag, err)
	}
	return int(n), nil
}

// orNone turns a duration of 0, which says "none" on a command line, into the negative one that
// says so in Go.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// oneOf reports a value that a flag does not know.
func oneOf(flag, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("--%s %q: want %s", flag, value, strings.Join(known, " or "))
}

// misbehaviours lists those of a side for the help of a flag.
func misbehaviours(side catalogue.Side, width int) string {
	var lines []string
	for _, m := range catalogue.Of(side) {
		lines = append(lines, fmt.Sprintf("  %-*s %s", width, m.Usage(), m.Title))
	}
	return strings.Join(lines, "\n")
}
