package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// A Pool spreads requests over several servers that do the same.
type Pool struct{ conns []*Conn }

// NewPool returns a pool of connections, which become its own: Close closes them.
func NewPool(conns ...*Conn) (*Pool, error) {
	if len(conns) == 0 {
		return nil, errors.New("new pool: no connection")
	}
	return &Pool{conns}, nil
}

// Call sends a request to the server that is ready and has the fewest in flight; if none is, to the first that becomes ready.
// Errors are those of [Conn.Call]. A request is sent once: one that fails with its server is not tried on another.
func (p *Pool) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	c := p.leastLoaded()
	if c == nil {
		var err error
		if c, err = p.firstReady(ctx); err != nil {
			return nil, fmt.Errorf("call %s: %w", method, err)
		}
	}
	return c.Call(ctx, method, params)
}

// leastLoaded returns the connection that is ready and has the fewest requests in flight, or nil.
func (p *Pool) leastLoaded() (best *Conn) {
	least := 0
	for _, c := range p.conns {
		c.mu.Lock()
		ready, n := c.state == Ready, c.pending.len()
		c.mu.Unlock()
		if ready && (best == nil || n < least) {
			best, least = c, n
		}
	}
	return best
}

// firstReady waits for the first connection that is ready. It fails when all are closed, or ctx ends.
func (p *Pool) firstReady(ctx context.Context) (*Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		c   *Conn
		err error
	}
	outcomes := make(chan outcome, len(p.conns))
	for _, c := range p.conns {
		go func() { outcomes <- outcome{c, c.Wait(ctx)} }()
	}
	var errs []error
	for range p.conns {
		o := <-outcomes
		if o.err == nil {
			return o.c, nil
		}
		errs = append(errs, o.err)
	}
	return nil, errors.Join(errs...)
}

// Close closes all connections, and returns when all servers are gone.
func (p *Pool) Close() error {
	done := make(chan error, len(p.conns))
	for _, c := range p.conns {
		go func() { done <- c.Close() }()
	}
	var errs []error
	for range p.conns {
		errs = append(errs, <-done)
	}
	return errors.Join(errs...)
}
