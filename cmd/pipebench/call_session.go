package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/scenarios/mcp/client"
)

// A callSession sends the requests on stdin and prints the answers.
type callSession struct {
	pool     *client.Pool
	inflight int
	patience time.Duration // to wait for an acknowledgement; 0 or less: for ever
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
	order := make(chan chan reply, s.inflight-1) // the goroutine that writes holds one more
	var writing sync.WaitGroup
	writing.Go(func() { // replies in the order of their requests
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

// ask sends each request, and sends the channel for its reply to order. It returns when the input,
// the server or ctx ends.
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
	q, err := client.ParseRequest(l.text, l.number)
	if err != nil {
		return usage(fmt.Errorf("line %d of stdin: %w", l.number, err))
	}
	if q.Notice {
		return s.pool.Notify(ctx, q.Method, q.Params)
	}
	r := make(chan reply, 1)
	if q.Method == mcp.Listen {
		go s.send(ctx, q, r)
		return s.listen(ctx, r)
	}
	order <- r
	go s.send(ctx, q, r)
	return nil
}

// notified prints what a server tells its subscribers.
func (s *callSession) notified(method string, params []byte) {
	if !bytes.Contains(params, []byte(`"io.modelcontextprotocol/subscriptionId"`)) {
		return
	}
	s.print(reply{line: client.Notification(method, params)})
	if method == mcp.Acknowledged {
		select {
		case s.listens <- struct{}{}:
		default: // nobody waits
		}
	}
}

// listen waits until the server acknowledges or refuses a subscription, so that the subscription
// already covers the effects of the next requests. ended gets the reply when the subscription ends.
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

// send makes one request and hands its reply over.
func (s *callSession) send(ctx context.Context, q client.Request, to chan<- reply) {
	line, failed := q.Send(ctx, s.pool)
	to <- reply{line, failed}
}
