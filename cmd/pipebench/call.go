package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcpstdio/client"
)

// callFlags are what call was asked for, as it was typed.
type callFlags struct {
	framing, maxMessage, memory     string
	timeout, cpu                    time.Duration
	inflight, restarts, connections int
	files                           uint64
	negotiate, quiet                bool
}

func newCall() *cobra.Command {
	f := &callFlags{}
	cmd := &cobra.Command{
		Use:   "call [flags] -- COMMAND [ARGUMENT...]",
		Short: "Ask an MCP server, from a shell script or CI",
		Long: `Start an MCP server, send it the requests on stdin, a line each, and print its answers,
a line each and in the order of the requests.

A request is a method with or without params, a tool with its arguments, or a whole
JSON-RPC message. Blank lines and lines that begin with # are skipped:

  tools/list
  tools/call {"name":"echo","arguments":{"message":"hi"}}
  echo {"message":"hi"}
  {"jsonrpc":"2.0","id":"a","method":"ping"}

An answer has the id of its message, or else the number of its line. COMMAND is started
without a shell: by node if it ends in .js, by python3 if it ends in .py. With
--connections it is started so often, and each request goes to the server that is
least busy; notifications go to all.

The exit code is the server's, if that is not 0; else 1 if a request failed.`,
		Example: `  echo tools/list | pipebench call -- server.js --config config.json
  echo 'echo {"message":"hi"}' | pipebench call -- pipebench serve
  pipebench call --timeout 5s --memory 512MiB -- ./server < requests.txt > answers.jsonl
  pipebench call --connections 4 --inflight 16 --restarts 3 -- ./server < requests.txt`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("which server? pipebench call -- COMMAND [ARGUMENT...]"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.call(cmd, args) },
	}
	f.register(cmd)
	return cmd
}

func (f *callFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SetInterspersed(false) // what follows the server's name is the server's
	flags.StringVar(&f.framing, "framing", "ndjson", "how messages are told apart: ndjson, content-length, chunked, adaptive")
	flags.StringVar(&f.maxMessage, "max-message", "", "the largest answer, such as 1MiB; unlimited (default 16MiB)")
	flags.BoolVar(&f.negotiate, "negotiate-max", false, "agree with the server on the smaller of both limits, for requests and answers")
	flags.DurationVar(&f.timeout, "timeout", client.DefaultRequestTimeout, "for one request; 0 for none")
	flags.IntVar(&f.inflight, "inflight", 1, "requests sent before the first is answered")
	flags.IntVar(&f.connections, "connections", 1, "servers that share the requests")
	flags.IntVar(&f.restarts, "restarts", 0, "how often in a row a server that fails is started again")
	flags.StringVar(&f.memory, "memory", "", "address space the server may use, such as 512MiB (Linux)")
	flags.DurationVar(&f.cpu, "cpu", 0, "CPU time the server may use (Linux)")
	flags.Uint64Var(&f.files, "files", 0, "descriptors the server may have (Linux)")
	flags.BoolVar(&f.quiet, "quiet", false, "drop the server's stderr, and warnings")
	complete(cmd, map[string][]string{"framing": callFramings})
}

// callFramings are those that servers speak.
var callFramings = []string{"ndjson", "content-length", "chunked", "adaptive"}

func (f *callFlags) call(cmd *cobra.Command, args []string) error {
	command, opts, err := f.plan(args, cmd.ErrOrStderr())
	if err != nil {
		return usage(err)
	}
	conns := make([]*client.Conn, f.connections)
	for i := range conns {
		if conns[i], err = client.Open(command, opts); err != nil {
			return usage(err) // all have the same options: it is the first
		}
	}
	pool, err := client.NewPool(conns...)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(cmd.Context(), func() { _ = pool.Close() }) // its error is always nil
	defer stop()
	s := &callSession{pool: pool, inflight: f.inflight}
	err = s.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
	_ = pool.Close()
	for _, c := range conns {
		if code, forced := c.Exit(); code > 0 && !forced {
			return &statusError{code, errors.Join(err, fmt.Errorf("the server exited with code %d", code))}
		}
	}
	return err
}

// plan reads the flags, and reports the first that makes no sense.
func (f *callFlags) plan(args []string, stderr io.Writer) (command client.Command, opts client.Options, err error) {
	command = client.NewCommand(args[0], args[1:]...)
	command.Limits = client.Limits{CPU: f.cpu, Files: f.files}
	if f.memory != "" {
		n, err := results.ParseSize(f.memory)
		if err != nil {
			return command, opts, fmt.Errorf("--memory: %w", err)
		}
		command.Limits.Memory = uint64(n)
	}
	switch {
	case f.inflight < 1:
		return command, opts, fmt.Errorf("--inflight %d: want at least 1", f.inflight)
	case f.connections < 1:
		return command, opts, fmt.Errorf("--connections %d: want at least 1", f.connections)
	case f.restarts < 0:
		return command, opts, fmt.Errorf("--restarts %d: want 0 or more", f.restarts)
	}
	opts = client.Options{Version: machine.Version(), Restarts: f.restarts, RequestTimeout: orNone(f.timeout)}
	if f.restarts == 0 {
		opts.Restarts = -1 // in Go 0 is without end
	}
	if !f.quiet {
		opts.Stderr = stderr
		opts.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	if opts.Framing, err = framers.Parse(f.framing); err != nil {
		return command, opts, fmt.Errorf("--framing: %w", err)
	}
	if opts.MaxMessage, err = messageLimit("max-message", f.maxMessage); err != nil {
		return command, opts, err
	}
	switch {
	case f.negotiate && opts.MaxMessage < 0:
		return command, opts, errors.New("--negotiate-max needs a limit, and --max-message is unlimited")
	case f.negotiate:
		opts.Policy = client.Negotiate
	case opts.MaxMessage < 0:
		opts.MaxMessage, opts.Policy = 0, client.Unlimited
	}
	return command, opts, nil
}

// A callSession sends the requests on stdin and prints the answers.
type callSession struct {
	pool     *client.Pool
	inflight int
	asked    int
	failed   int
}

// run asks what stands on in and writes the answers to out.
func (s *callSession) run(ctx context.Context, in io.Reader, out io.Writer) error {
	if err := s.pool.Wait(ctx); err != nil {
		return err
	}
	order := make(chan chan reply, s.inflight-1) // and one with who writes
	written := make(chan error, 1)
	go func() { written <- s.write(order, out) }()
	err := s.ask(ctx, in, order)
	close(order)
	if err := errors.Join(err, <-written); err != nil {
		return err
	}
	switch {
	case s.asked == 0:
		return errors.New("no request on stdin: write one a line, such as tools/list")
	case s.failed > 0:
		return fmt.Errorf("%d of %d requests failed", s.failed, s.asked)
	}
	return nil
}

// A reply is a line of output.
type reply struct {
	line   []byte
	failed bool
}

// ask sends each request, and puts where its reply will come on order. It ends with the input, the
// server or ctx.
func (s *callSession) ask(ctx context.Context, in io.Reader, order chan<- chan reply) error {
	over := make(chan struct{})
	defer close(over)
	lines := readLines(in, over)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.pool.Done():
			return s.pool.Wait(ctx)
		case l, ok := <-lines:
			if !ok {
				return nil
			}
			if err := s.askLine(ctx, l, order); err != nil {
				return err
			}
		}
	}
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

// askLine sends what stands on one line.
func (s *callSession) askLine(ctx context.Context, l line, order chan<- chan reply) error {
	if l.err != nil {
		return fmt.Errorf("read requests: %w", l.err)
	}
	s.asked++
	q, err := parseRequest(l.text, l.number)
	if err != nil {
		return usage(fmt.Errorf("line %d of stdin: %w", l.number, err))
	}
	if q.notice {
		return s.pool.Notify(ctx, q.method, q.params)
	}
	r := make(chan reply, 1)
	order <- r
	go func() { r <- s.send(ctx, q) }()
	return nil
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

// write writes replies in the order they are due.
func (s *callSession) write(order <-chan chan reply, out io.Writer) (err error) {
	for r := range order {
		a := <-r
		if a.failed {
			s.failed++
		}
		if err == nil {
			_, err = out.Write(append(a.line, '\n'))
		}
	}
	if err != nil {
		return fmt.Errorf("write answers: %w", err)
	}
	return nil
}

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
		return parseMessage(line)
	}
	name, rest, _ := strings.Cut(string(line), " ")
	body := json.RawMessage(strings.TrimSpace(rest))
	if len(body) > 0 && !json.Valid(body) {
		return request{}, fmt.Errorf("what follows %s is not JSON", name)
	}
	q := request{id: jsonrpc.Number(number), method: name, params: body}
	if !strings.Contains(name, "/") && name != "ping" {
		q.method = "tools/call"
		q.params = toolParams(name, body)
	}
	if len(q.params) == 0 {
		q.params = nil
	}
	q.notice = strings.HasPrefix(q.method, "notifications/")
	return q, nil
}

func parseMessage(line []byte) (request, error) {
	m, err := jsonrpc.Parse(line)
	if err != nil {
		return request{}, err
	}
	if m.Kind().Answers() {
		return request{}, errors.New("an answer, where a request is wanted")
	}
	return request{id: m.ID, method: m.Method, params: m.Params, notice: m.Kind() == jsonrpc.Notification}, nil
}

func toolParams(name string, arguments json.RawMessage) json.RawMessage {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	params, _ := json.Marshal(map[string]any{"name": name, "arguments": arguments}) // a string and valid JSON
	return params
}
