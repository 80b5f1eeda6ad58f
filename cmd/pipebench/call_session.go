package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/scenarios/mcp/client"
)

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

// errOver stops the output when the session ends, so that open subscriptions print nothing more.
var errOver = errors.New("the input has ended")

// run sends the requests that it reads from in, and writes the answers.
func (s *callSession) run(ctx context.Context, in io.Reader) error {
	err := s.pool.Wait(ctx)
	if err != nil {
		return err
	}
	order := make(chan chan reply, s.inflight-1) // one more is with the goroutine that writes
	var writing sync.WaitGroup
	writing.Go(func() { // replies in the order they are due
		for r := range order {
			s.print(<-r)
		}
	})
	err = s.ask(ctx, in, order)
	close(order)
	writing.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	err = errors.Join(err, wrap("write answers", s.err))
	s.err = errOver
	switch {
	case err != nil:
		return err
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

// ask sends each request, and sends on order the channel on which its reply will come. It returns
// when the input, the server or ctx ends.
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
			err := s.askLine(ctx, l, order)
			if err != nil {
				return err
			}
		}
	}
}

// askLine sends the request that stands on a line.
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
	if q.method == mcp.Listen {
		go func() { r <- s.send(ctx, q) }()
		return s.listen(ctx, r)
	}
	order <- r
	go func() { r <- s.send(ctx, q) }()
	return nil
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

// listen waits until the server acknowledges a subscription or refuses it, so that the effects of
// the next requests are notified. ended gets the reply when the subscription ends.
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

// A line is a line of the input, or the error that ends it.
type line struct {
	number int64
	text   []byte
	err    error
}

// readLines sends the lines of in on a channel until in ends or over is closed. It reads in a
// goroutine, because a read of a terminal cannot be cancelled.
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

// send makes one request and returns the reply. If no answer comes from the server, the reply is an
// error of our own, so that each request still has a line of output.
func (s *callSession) send(ctx context.Context, q request) reply {
	result, err := s.pool.Call(ctx, q.method, q.params)
	if err == nil {
		var tool struct{ IsError bool }
		_ = json.Unmarshal(result, &tool) // a result that is no object does not come from a tool
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
		notice := m.Kind() == jsonrpc.Notification
		return request{id: m.ID, method: m.Method, params: m.Params, notice: notice}, err
	}
	name, rest, _ := strings.Cut(string(line), " ")
	q := request{
		id: jsonrpc.Number(number), method: name,
		notice: strings.HasPrefix(name, "notifications/"),
	}
	body := strings.TrimSpace(rest)
	if body != "" {
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
		// A string and valid JSON.
		q.params, _ = json.Marshal(map[string]any{"name": name, "arguments": q.params})
	}
	return q, nil
}
