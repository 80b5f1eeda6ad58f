package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/scenarios/mcp/client"
	"github.com/pipebench/pipebench/syspipe/script"
)

// callFlags are what call was asked for, as it was typed.
type callFlags struct {
	options               client.Options
	limits                client.Limits
	memory                int64
	inflight, connections int
	negotiate, quiet      bool
	logLevel              slog.Level
	bar                   answerBar
}

// callFramings are those that servers speak.
var callFramings = []string{"ndjson", "content-length", "chunked", "adaptive"}

const framingUsage = "ndjson, content-length, chunked (every message in frames) or adaptive (lines and frames, large messages in frames)"

var logLevels = []string{"debug", "info", "warn", "error"}

func (f *callFlags) register(cmd *cobra.Command) {
	flags, o := cmd.Flags(), &f.options
	flags.SetInterspersed(false) // what follows the server's name is the server's
	addParsed(cmd, &o.Framing, "framing", "ndjson", framers.Parse, "how messages are told apart: "+framingUsage)
	addParsed(cmd, &o.MaxMessage, "max-message", "", sizeOr("unlimited"), "the largest answer, such as 1MiB; unlimited (default 16MiB)")
	flags.BoolVar(&f.negotiate, "negotiate-max", false, "agree with the server on the smaller of both limits, for requests and answers")
	addParsed(cmd, &o.Protocol, "revision", client.DefaultProtocol, parseRevision,
		"the MCP revision to ask for: "+strings.Join(mcp.Revisions(), ", ")+"; the last has subscriptions")
	addDuration(cmd, &o.RequestTimeout, "timeout", client.DefaultRequestTimeout, "for one request; 0 for none")
	addCount(cmd, &f.inflight, "inflight", 1, 1, mostInflight, "requests sent before the first is answered")
	addCount(cmd, &f.connections, "connections", 1, 1, mostConnections, "servers that share the requests")
	addCount(cmd, &o.Restarts, "restarts", 0, 0, mostCounted, "how often in a row a server that fails is started again")
	addParsed(cmd, &f.memory, "memory", "", results.ParseSize, "address space the server may use, such as 512MiB (Linux)")
	addDuration(cmd, &f.limits.CPU, "cpu", 0, "CPU time the server may use (Linux)")
	flags.Uint64Var(&f.limits.Files, "files", 0, "descriptors the server may have (Linux)")
	flags.BoolVar(&f.quiet, "quiet", false, "drop the server's stderr, and warnings")
	flags.TextVar(&f.logLevel, "log-level", slog.LevelWarn, "debug, info, warn or error; debug tells of messages in chunks")
	complete(cmd, map[string][]string{
		"framing": callFramings, "log-level": logLevels, "revision": mcp.Revisions(),
	})
}

func parseRevision(text string) (string, error) {
	if !slices.Contains(mcp.Revisions(), text) {
		return "", fmt.Errorf("want one of %s", strings.Join(mcp.Revisions(), ", "))
	}
	return text, nil
}

func (f *callFlags) run(cmd *cobra.Command, args []string) {
	if f.options.RequestTimeout < 0 {
		script.Check(usage(fmt.Errorf("--timeout %v: want 0 for none, or more", f.options.RequestTimeout)))
	}
	if cmd.Flags().Changed("timeout") { // initialize is a request
		f.options.InitTimeout = cmp.Or(f.options.RequestTimeout, -1) // in Go 0 is the default
	}
	f.complete(cmd.ErrOrStderr())
	s := &callSession{inflight: f.inflight, patience: f.options.RequestTimeout, out: cmd.OutOrStdout()}
	s.listens = make(chan struct{}, 1)
	f.options.OnNotification = s.notified
	command := client.NewCommand(args[0], args[1:]...)
	command.Limits = f.limits
	conns := make([]*client.Conn, f.connections)
	for i := range conns {
		var err error
		conns[i], err = client.Open(command, f.options)
		script.Check(usage(err)) // all have the same options: it is the first
	}
	pool := script.Must(client.NewPool(conns...))
	stop := context.AfterFunc(cmd.Context(), func() { _ = pool.Close() }) // its error is always nil
	defer stop()
	atTerminal(cmd, "waiting for requests, one a line, such as tools/list; the end of input (Ctrl-D) ends the server")
	s.pool = pool
	err := script.Run(func() { s.run(cmd.Context(), cmd.InOrStdin()) })
	_ = pool.Close()
	f.bar.stop()
	for _, c := range conns {
		if code, forced := c.Exit(); code > 0 && !forced {
			script.Check(&statusError{code, errors.Join(err, fmt.Errorf("the server exited with code %d", code))})
		}
	}
	script.Check(err)
}

// complete is a script. It turns what the flags say into what the client takes.
func (f *callFlags) complete(stderr io.Writer) {
	o := &f.options
	f.limits.Memory = uint64(f.memory)
	o.Version = machine.Version()
	o.RequestTimeout = cmp.Or(o.RequestTimeout, -1) // in Go 0 is the default
	if o.Restarts == 0 {
		o.Restarts = -1 // in Go 0 is without end
	}
	if !f.quiet {
		o.Stderr = stderr
		o.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: f.logLevel}))
		f.bar.stderr, o.OnChunk = stderr, f.bar.chunk
	}
	unlimited := o.MaxMessage < 0
	demand(!f.negotiate || !unlimited,
		usage(errors.New("--negotiate-max needs a limit, and --max-message is unlimited")))
	switch {
	case f.negotiate:
		o.Policy = client.Negotiate
	case unlimited:
		o.MaxMessage, o.Policy = 0, client.Unlimited
	}
}

// An answerBar shows at a terminal how much has come of a large answer in chunks, of one at a time.
type answerBar struct {
	stderr io.Writer
	mu     sync.Mutex
	id     string // of the message
	shown  *progress
}

// largeAnswer is from how many frames on an answer is worth a bar: a MiB has 18.
const largeAnswer = 16

// chunk takes in a chunk that has come.
func (b *answerBar) chunk(c framers.Chunk) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown == nil && c.Received == 1 && c.Total >= largeAnswer {
		b.id, b.shown = string(c.ID), new(sharedFlags).progress(b.stderr)
		b.shown.step("frames of an answer")
	}
	switch {
	case b.shown == nil || b.id != string(c.ID):
	case c.Received < c.Total:
		b.shown.units(c.Received, c.Total)
	default:
		b.shown.stop() // short of its total, it is taken away
		b.shown = nil
	}
}

func (b *answerBar) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shown.stop()
	b.shown = nil
}

// A callSession sends the requests on stdin and prints the answers.
type callSession struct {
	pool     *client.Pool
	inflight int
	patience time.Duration // for an acknowledgement; not positive: for ever
	asked    int
	listens  chan struct{} // a subscription was acknowledged

	mu     sync.Mutex
	out    io.Writer
	failed int
	err    error // why no more is written
}

// print writes an answer, or what a subscription brings.
func (s *callSession) print(r reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.failed && s.err != errOver {
		s.failed++
	}
	if s.err == nil {
		_, s.err = s.out.Write(append(r.line, '\n'))
	}
}

// errOver is why nothing is written of subscriptions that end with the session.
var errOver = errors.New("the input has ended")

// run is a script. It asks what stands on in and writes the answers.
func (s *callSession) run(ctx context.Context, in io.Reader) {
	script.Check(s.pool.Wait(ctx))
	order := make(chan chan reply, s.inflight-1) // and one with who writes
	var writing sync.WaitGroup
	writing.Go(func() { // replies in the order they are due
		for r := range order {
			s.print(<-r)
		}
	})
	err := script.Run(func() { s.ask(ctx, in, order) })
	close(order)
	writing.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	err = errors.Join(err, wrap("write answers", s.err))
	s.err = errOver
	script.Check(err)
	demand(s.asked > 0, errors.New("no request on stdin: write one a line, such as tools/list"))
	demand(s.failed == 0, fmt.Errorf("%d of %d requests failed", s.failed, s.asked))
}

// A reply is a line of output.
type reply struct {
	line   []byte
	failed bool
}

// ask is a script. It sends each request, and puts where its reply will come on order. It ends with
// the input, the server or ctx.
func (s *callSession) ask(ctx context.Context, in io.Reader, order chan<- chan reply) {
	over := make(chan struct{})
	defer close(over)
	lines := readLines(in, over)
	for {
		select {
		case <-ctx.Done():
			script.Check(ctx.Err())
		case <-s.pool.Done():
			script.Check(s.pool.Wait(ctx))
			return
		case l, ok := <-lines:
			if !ok {
				return
			}
			script.Check(wrap("read requests", l.err))
			s.asked++
			q, err := parseRequest(l.text, l.number)
			script.Check(usage(wrap(fmt.Sprintf("line %d of stdin", l.number), err)))
			if q.notice {
				script.Check(s.pool.Notify(ctx, q.method, q.params))
				continue
			}
			r := make(chan reply, 1)
			if q.method != mcp.Listen {
				order <- r
			}
			go func() { r <- s.send(ctx, q) }()
			if q.method == mcp.Listen {
				script.Check(s.listen(ctx, r))
			}
		}
	}
}

// notified prints what a server tells its subscribers.
func (s *callSession) notified(method string, params []byte) {
	if !bytes.Contains(params, []byte(`"io.modelcontextprotocol/subscriptionId"`)) {
		return
	}
	s.print(reply{line: jsonrpc.AppendRequest(nil, "", method, params)})
	if method == mcp.Acknowledged {
		select {
		case s.listens <- struct{}{}:
		default: // nobody waits for that of a server that was started again
		}
	}
}

// listen waits until a subscription is acknowledged, so that what is asked next is told of, or refused.
func (s *callSession) listen(ctx context.Context, ended <-chan reply) error {
	var late <-chan time.Time
	if s.patience > 0 {
		late = time.After(s.patience)
	}
	select {
	case <-s.listens:
		go func() { s.print(<-ended) }()
	case r := <-ended:
		s.print(r)
	case <-late:
		return fmt.Errorf("%s: no acknowledgement within %v", mcp.Listen, s.patience)
	case <-ctx.Done():
	}
	return nil
}

// A line is one of the input.
type line struct {
	number int64
	text   []byte
	err    error // ends the input
}

// readLines reads lines until the input or whoever takes them is over: a read of a terminal cannot
// be taken back.
func readLines(in io.Reader, over <-chan struct{}) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		r := framers.NDJSON().NewReader(in, framers.WithMaxMessage(-1), framers.WithVerbatim())
		for number := int64(1); ; number++ {
			text, err := r.ReadMessage()
			if err == io.EOF {
				return
			}
			text = bytes.Clone(bytes.TrimSpace(text))
			if err == nil && (len(text) == 0 || text[0] == '#') {
				continue
			}
			select {
			case lines <- line{number, text, err}:
			case <-over:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// send asks one request. What fails here, not at the server, is answered in its place, so that
// lines stay in step.
func (s *callSession) send(ctx context.Context, q request) reply {
	result, err := s.pool.Call(ctx, q.method, q.params)
	if err == nil {
		var tool struct{ IsError bool }
		_ = json.Unmarshal(result, &tool) // a result that is no object is none of a tool
		return reply{jsonrpc.AppendResult(nil, q.id, result), tool.IsError}
	}
	var remote *jsonrpc.Error
	if !errors.As(err, &remote) {
		remote = &jsonrpc.Error{Code: codeOfOurOwn, Message: err.Error()}
	}
	return reply{jsonrpc.AppendError(nil, q.id, *remote), true}
}

// codeOfOurOwn is the first of those that JSON-RPC leaves to implementations.
const codeOfOurOwn = -32000

// A request is a line of input.
type request struct {
	id     jsonrpc.ID
	method string
	params json.RawMessage // nil for none
	notice bool            // wants no answer
}

// parseRequest reads a line: a message, a method with params, or a tool with arguments.
func parseRequest(line []byte, number int64) (request, error) {
	if line[0] == '{' {
		m, err := jsonrpc.Parse(line)
		if err == nil && m.Kind().Answers() {
			err = errors.New("an answer, where a request is wanted")
		}
		return request{id: m.ID, method: m.Method, params: m.Params, notice: m.Kind() == jsonrpc.Notification}, err
	}
	name, rest, _ := strings.Cut(string(line), " ")
	q := request{id: jsonrpc.Number(number), method: name, notice: strings.HasPrefix(name, "notifications/")}
	if body := strings.TrimSpace(rest); body != "" {
		q.params = json.RawMessage(body)
	}
	if q.params != nil && !json.Valid(q.params) {
		return q, fmt.Errorf("what follows %s is not JSON", name)
	}
	if !strings.Contains(name, "/") && name != "ping" {
		q.method = "tools/call"
		if q.params == nil {
			q.params = json.RawMessage("{}")
		}
		q.params, _ = json.Marshal(map[string]any{"name": name, "arguments": q.params}) // a string and valid JSON
	}
	return q, nil
}

// serveFlags are what serve was asked for, as it was typed.
type serveFlags struct {
	options                                    mcp.Options
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
	addCount(cmd, &o.MaxInFlight, "inflight", mcp.DefaultMaxInFlight, 1, mostInflight, "requests served at a time; 1 MiB of others wait, more stay in the pipe")
	addChoice(cmd, &f.parseErrorID, "parse-error-id", []string{"empty", "null"}, `id of the answer to what has none: empty ("") or null`)
	addChoice(cmd, &f.toolErrors, "tool-errors", []string{"result", "jsonrpc"}, "what a failing tool gives: result (isError) or jsonrpc (an error of code -32603)")
	addDuration(cmd, &o.ToolTimeout, "tool-timeout", mcp.DefaultToolTimeout, "for one call; 0 for none")
	addDuration(cmd, &o.EOFGrace, "eof-grace", mcp.DefaultEOFGrace, "how long what was asked may go on when stdin has ended")
	addDuration(cmd, &o.FlushTimeout, "flush-timeout", mcp.DefaultFlushTimeout, "how long answers may then take to be written")
	addDuration(cmd, &o.ShutdownTimeout, "shutdown-timeout", mcp.DefaultShutdownTimeout, "for all of that together")
	flags.BoolVar(&o.StrictLifecycle, "strict-lifecycle", false, "answer nothing but ping before initialize")
	flags.BoolVar(&o.ChangingTools, "changing-tools", false, "have a list of tools that changes: the tool change_tools tells of it")
	flags.BoolVar(&o.Lenient, "lenient", false, "skip malformed lines of a header (content-length)")
	addParsed(cmd, &o.Fault, "fault", "", mcp.ParseFault, "misbehave, as listed above")
	flags.StringVar(&f.messages, "messages", "", "answer from a recording (see tap), or a file of both sides' messages, one a line")
	flags.StringVar(&f.record, "record", "", "append what passes to this file, arguments and all, as tap does")
	flags.TextVar(&f.logLevel, "log-level", slog.LevelInfo, "debug, info, warn or error")
	complete(cmd, map[string][]string{"framing": callFramings, "log-level": logLevels})
}

func (f *serveFlags) run(cmd *cobra.Command, _ []string) {
	o := f.options
	o.Version, o.Tools, o.Stderr = machine.Version(), mcp.Samples(), cmd.ErrOrStderr()
	o.Logger = slog.New(slog.NewTextHandler(o.Stderr, &slog.HandlerOptions{Level: f.logLevel}))
	o.ToolTimeout, o.EOFGrace = cmp.Or(o.ToolTimeout, -1), cmp.Or(o.EOFGrace, -1) // in Go 0 is the default
	o.FlushTimeout, o.ShutdownTimeout = cmp.Or(o.FlushTimeout, -1), cmp.Or(o.ShutdownTimeout, -1)
	o.ToolErrorsAsRPC = f.toolErrors == "jsonrpc"
	if o.ParseErrorID = jsonrpc.Empty; f.parseErrorID == "null" {
		o.ParseErrorID = jsonrpc.Null
	}
	if f.messages != "" {
		messages := script.Must(interruptibly(cmd.Context(), f.messages, payload.ReadMessages))
		o.Playback = script.Must(mcp.NewPlayback(messages))
	}
	if f.record != "" {
		file := script.Must(interruptibly(cmd.Context(), f.record, createRecording))
		defer file.Close()
		o.Run, o.Record = script.Must(results.NewRun()), results.NewWriter(file)
		script.Check(o.Record.Write(describeRun(o.Run, 0)))
	}
	atTerminal(cmd, "waiting for a client's messages on standard input, a line each; the end of input (Ctrl-D) ends it")
	signal.Ignore(syscall.SIGPIPE) // a client that closes stdout is an error of a write, not the end of the process
	s, err := mcp.NewServer(cmd.InOrStdin(), cmd.OutOrStdout(), o)
	script.Check(usage(err))
	script.Check(s.Start(cmd.Context()))
	script.Check(s.Wait())
}
