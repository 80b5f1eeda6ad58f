package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/scenarios/mcp/client"
)

// A callSession sends requests from stdin to a server, and prints the answers in the same order.
type callSession struct {
	pool         *client.Pool
	inflight     int
	asked        int           // requests read so far; with --model: questions
	acknowledged chan struct{} // gets a value when the server acknowledges a subscription
	patience     time.Duration // how long to wait for an acknowledgement; 0 or less: for ever

	mu     sync.Mutex
	out    io.Writer
	failed int   // requests that failed so far
	err    error // why nothing more is printed; nil if printing goes on

	unanswered []string // names of requests that an interruption left without an answer
}

// A reply is a line of output.
type reply struct {
	line       []byte
	failed     bool   // the line reports a failed request
	unanswered string // the name of a request that an interruption left without an answer, or ""
}

// errOver is stored in callSession.err at the end of the session, so that open subscriptions print
// nothing more.
var errOver = errors.New("the input has ended")

// print prints a reply: the answer to a request, or a notification for a subscription.
func (s *callSession) print(r reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.failed && s.err != errOver {
		s.failed++
	}
	if r.unanswered != "" {
		s.unanswered = append(s.unanswered, r.unanswered)
	}
	if s.err == nil {
		_, s.err = s.out.Write(append(r.line, '\n'))
	}
}

// run sends the requests that it reads from in, and prints the answers.
func (s *callSession) run(ctx context.Context, in io.Reader) error {
	err := s.pool.Wait(ctx)
	if err != nil {
		return err
	}
	// At most s.inflight requests lack a reply: the one that the goroutine below waits for, and
	// those with a channel in replies.
	replies := make(chan chan reply, s.inflight-1)
	var printing sync.WaitGroup
	printing.Go(func() {
		for r := range replies {
			s.print(<-r)
		}
	})
	err = s.eachLine(ctx, in, s.pool.Done(), func(l line) error {
		return s.askLine(ctx, l, replies)
	})
	close(replies)
	printing.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	err = errors.Join(err, wrap("write answers", s.err))
	s.err = errOver // from now on, nothing is printed
	if err != nil {
		return err
	}
	return s.failure("request", "tools/list")
}

// failure returns an error if nothing was asked, or if some of it failed. The noun says what the
// lines of the input are.
func (s *callSession) failure(noun, example string) error {
	switch {
	case s.asked == 0:
		return fmt.Errorf("no %s on stdin: write one a line, such as %s", noun, example)
	case s.failed > 0:
		return fmt.Errorf("%d of %d %ss failed", s.failed, s.asked, noun)
	}
	return nil
}

// eachLine calls do with each line of in, until that fails or left is closed.
func (s *callSession) eachLine(
	ctx context.Context, in io.Reader, left <-chan struct{}, do func(line) error,
) error {
	stop := make(chan struct{})
	defer close(stop)
	lines := readLines(in, stop)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-left:
			return s.pool.Wait(ctx)
		case l, ok := <-lines:
			if !ok {
				return nil
			}
			if err := do(l); err != nil {
				return err
			}
		}
	}
}

func (s *callSession) askLine(ctx context.Context, l line, replies chan<- chan reply) error {
	if l.err != nil {
		return fmt.Errorf("read requests: %w", l.err)
	}
	s.asked++
	request, err := client.ParseRequest(l.text, l.number)
	if err != nil {
		return usageError(fmt.Errorf("line %d of stdin: %w", l.number, err))
	}
	if request.Notice {
		return s.pool.Notify(ctx, request.Method, request.Params)
	}
	r := make(chan reply, 1)
	if request.Method == mcp.Listen { // the reply comes when the subscription ends
		go s.send(ctx, request, l.number, r)
		return s.awaitSubscription(ctx, r)
	}
	replies <- r // waits while s.inflight requests have no reply
	go s.send(ctx, request, l.number, r)
	return nil
}

func (s *callSession) send(
	ctx context.Context, request client.Request, number int64, to chan<- reply,
) {
	line, failed := request.Send(ctx, s.pool)
	r := reply{line: line, failed: failed}
	if failed && ctx.Err() != nil {
		r.unanswered = fmt.Sprintf("%s (line %d)", request.Method, number)
	}
	to <- r
}

// interruption returns the error after an interruption. It names the requests without an answer.
func (s *callSession) interruption() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errInterrupted
	if len(s.unanswered) > 0 {
		err = fmt.Errorf("%w; without an answer: %s", err, strings.Join(s.unanswered, ", "))
	}
	return &statusError{exitInterrupted, err}
}

// notified prints a notification that belongs to a subscription. If the notification acknowledges
// the subscription, notified tells awaitSubscription.
func (s *callSession) notified(method string, params []byte) {
	if !bytes.Contains(params, []byte(`"io.modelcontextprotocol/subscriptionId"`)) {
		return
	}
	s.print(reply{line: client.Notification(method, params)})
	if method == mcp.Acknowledged {
		select {
		case s.acknowledged <- struct{}{}:
		default: // nobody waits
		}
	}
}

// awaitSubscription waits until the server acknowledges a subscription. The channel answer delivers
// a reply at once if the server refuses, or else when the subscription ends.
func (s *callSession) awaitSubscription(ctx context.Context, answer <-chan reply) error {
	var late <-chan time.Time
	if s.patience > 0 {
		late = time.After(s.patience)
	}
	select {
	case <-s.acknowledged:
		go func() { s.print(<-answer) }()
	case r := <-answer: // refused
		s.print(r)
	case <-late:
		return fmt.Errorf("%s: no acknowledgement within %v", mcp.Listen, s.patience)
	case <-ctx.Done():
	}
	return nil
}

// A line is a line of the input, or the error that ends the input.
type line struct {
	number int64
	text   []byte
	err    error
}

// readLines delivers the lines of in, without blank lines and comments (#), until in ends or the
// caller closes stop.
func readLines(in io.Reader, stop <-chan struct{}) <-chan line {
	lines := make(chan line)
	// A goroutine reads, because a read of a terminal cannot be cancelled.
	go func() {
		defer close(lines)
		const noLimit = -1
		r := framers.NDJSON().NewReader(in, framers.WithMaxMessage(noLimit), framers.WithVerbatim())
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
			case <-stop:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}
