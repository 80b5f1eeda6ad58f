package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/scenarios/mcp/client"
)

type callFlags struct {
	options     client.Options
	limits      client.Limits
	inflight    int
	connections int
	oversize    string
	model       string
	quiet       bool
	logLevel    slog.Level
	bar         answerBar
}

const framingUsage = "ndjson, content-length, chunked (every message in frames) " +
	"or adaptive (lines and frames, large messages in frames)"

const unlimited = "unlimited"

var logLevels = []string{"debug", "info", "warn", "error"}

func (f *callFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	o := &f.options
	flags.SetInterspersed(false) // flags after the server's name belong to the server
	addParsed(cmd, &o.Framing, "framing", "ndjson", framers.Parse,
		"how messages are told apart: "+framingUsage)
	flags.BoolVar(&o.Lenient, "lenient", false, "skip malformed lines of a header (content-length)")
	addParsed(cmd, &o.MaxMessage, "max-message", "", sizeOr(unlimited),
		"the largest answer, such as 1MiB; unlimited (default 16MiB)")
	addChoice(cmd, &f.oversize, "oversize", []string{"close", "error", "negotiate", unlimited},
		"what a larger answer leads to: close the connection; an error to its sender, then close; "+
			"negotiate the smaller limit of both ends, for requests too, and close; unlimited")
	addParsed(cmd, &o.Protocol, "revision", client.DefaultProtocol, parseRevision,
		"the MCP revision to ask for: "+strings.Join(mcp.Revisions(), ", ")+
			"; the last has subscriptions")
	addTimeout(cmd, &o.RequestTimeout, "timeout", client.DefaultRequestTimeout,
		"for one request; 0 for none")
	addCount(cmd, &f.inflight, "inflight", countFlag{usual: 1, least: 1, most: mostInflight},
		"requests sent before the first is answered")
	connections := countFlag{usual: 1, least: 1, most: mostConnections}
	addCount(cmd, &f.connections, "connections", connections, "servers that share the requests")
	addCount(cmd, &o.Restarts, "restarts", countFlag{},
		"how often in a row a server that fails is started again")
	flags.StringVar(&f.model, "model", "",
		"a command that stands for a language model: each line of input is a question for it")
	addParsed(cmd, &f.limits.Memory, "memory", "", results.ParseSize,
		"address space the server may use, such as 512MiB (Linux)")
	addDuration(cmd, &f.limits.CPU, "cpu", 0, "CPU time the server may use (Linux)")
	flags.Uint64Var(&f.limits.Files, "files", 0, "descriptors the server may have (Linux)")
	flags.BoolVar(&f.quiet, "quiet", false, "drop the server's stderr, and warnings")
	flags.TextVar(&f.logLevel, "log-level", slog.LevelWarn,
		"debug, info, warn or error; debug tells of messages in chunks")
	complete(cmd, map[string][]string{
		"log-level": logLevels, "revision": mcp.Revisions(),
	})
}

func parseRevision(text string) (string, error) { return text, oneOf(mcp.Revisions(), text) }

func (f *callFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.completeOptions(cmd); err != nil {
		return err
	}
	s := &callSession{
		inflight: f.inflight, patience: f.options.RequestTimeout,
		out: cmd.OutOrStdout(), acknowledged: make(chan struct{}, 1),
	}
	f.options.OnNotification = s.notified
	command := client.NewCommand(args[0], args[1:]...)
	command.Limits = f.limits
	conns := make([]*client.Conn, f.connections)
	for i := range conns {
		conns[i] = client.Open(command, f.options)
	}
	s.pool = client.NewPool(conns...)
	atTerminal(cmd, "waiting for requests, one a line, such as tools/list; "+
		"the end of input (Ctrl-D) ends the server")
	var err error
	if f.model != "" {
		err = s.runModel(cmd, f.model)
	} else {
		err = s.run(cmd.Context(), cmd.InOrStdin())
	}
	s.pool.Close()
	f.bar.stop()
	if cmd.Context().Err() != nil {
		return s.interruption()
	}
	for _, c := range conns {
		code, isForced := c.Exit()
		if code > 0 && !isForced {
			exited := fmt.Errorf("the server exited with code %d", code)
			return &statusError{code, errors.Join(err, exited)}
		}
	}
	return err
}

// completeOptions sets the options of the client that depend on other flags or have no flag.
func (f *callFlags) completeOptions(cmd *cobra.Command) error {
	o := &f.options
	if cmd.Flags().Changed("timeout") {
		o.InitTimeout = o.RequestTimeout // initialize is a request, too
	}
	o.Version = machine.Version()
	if o.Restarts == 0 {
		o.Restarts = -1 // never: for the client, 0 means any number of times
	}
	if !f.quiet {
		stderr := cmd.ErrOrStderr()
		o.Stderr = stderr
		o.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: f.logLevel}))
		f.bar.stderr = stderr
		o.OnChunk = f.bar.chunk
	}
	if f.oversize == unlimited {
		o.MaxMessage = -1
		return nil
	}
	if o.MaxMessage < 0 && cmd.Flags().Changed("oversize") {
		return usageError(fmt.Errorf(
			"--oversize %s needs a limit, and --max-message is unlimited", f.oversize))
	}
	o.Policy = client.Policy(f.oversize)
	return nil
}

// An answerBar is a progress bar for a terminal. It shows how much of a large answer has arrived,
// for one answer at a time.
type answerBar struct {
	stderr io.Writer
	mu     sync.Mutex
	id     string    // of the answer that has the bar
	shown  *progress // nil if no answer has a bar
}

// largeAnswer is how many frames an answer must have to get a progress bar. An answer of 1 MiB has
// 18 frames.
const largeAnswer = 16

// chunk updates the bar after the chunk c has arrived.
func (b *answerBar) chunk(c framers.Chunk) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := string(c.ID)
	if b.shown == nil && c.Received == 1 && c.Total >= largeAnswer {
		b.id = id
		b.shown = new(sharedFlags).newProgress(b.stderr)
		b.shown.step("frames of an answer")
	}
	switch {
	case b.shown == nil || b.id != id:
	case c.Received < c.Total:
		b.shown.units(c.Received, c.Total)
	default:
		b.shown.stop() // removes the bar, because it is not full yet
		b.shown = nil
	}
}

func (b *answerBar) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shown.stop()
	b.shown = nil
}
