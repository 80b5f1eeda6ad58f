package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// A Pool spreads requests over several connections, whose servers all do the same.
type Pool struct {
	conns []*Conn
	over  chan struct{} // closed when all connections are Closing
}

// NewPool returns a pool of connections, at least one. The pool owns them from now on: Pool.Close
// closes them.
func NewPool(conns ...*Conn) *Pool {
	p := &Pool{conns: conns, over: make(chan struct{})}
	go func() {
		for _, c := range conns {
			<-c.Done()
		}
		close(p.over)
	}()
	return p
}

// Wait returns when one of the connections is ready. If none becomes ready, Wait returns the errors
// of all.
func (p *Pool) Wait(ctx context.Context) error {
	_, err := p.firstReady(ctx)
	return err
}

// Done returns a channel that is closed when the last connection has ended.
func (p *Pool) Done() <-chan struct{} { return p.over }

// Call sends a request to the ready server that has the fewest requests in flight. If no server is
// ready, Call waits. If the server fails, Call does not try another. Call returns the same errors
// as [Conn.Call].
func (p *Pool) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	ctx, cancel := p.conns[0].withTimeout(ctx)
	defer cancel()
	c := p.leastLoaded()
	if c == nil {
		var err error
		c, err = p.firstReady(ctx)
		if err != nil {
			return nil, fmt.Errorf("call %s: %w", method, err)
		}
	}
	return c.Call(ctx, method, params)
}

// Notify sends a notification to every server, because the notification may concern the session of
// each.
func (p *Pool) Notify(ctx context.Context, method string, params any) error {
	ctx, cancel := p.conns[0].withTimeout(ctx)
	defer cancel()
	var errs []error
	for _, c := range p.conns {
		errs = append(errs, c.Notify(ctx, method, params))
	}
	return errors.Join(errs...)
}

// leastLoaded returns the ready connection that has the fewest requests in flight, or nil.
func (p *Pool) leastLoaded() (best *Conn) {
	least := 0
	for _, c := range p.conns {
		c.mu.Lock()
		ready := c.state == Ready
		n := len(c.pending)
		c.mu.Unlock()
		if ready && (best == nil || n < least) {
			best = c
			least = n
		}
	}
	return best
}

// firstReady returns the first connection that is ready. It returns an error if all connections are
// closed or ctx ends.
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
func (p *Pool) Close() {
	var closing sync.WaitGroup
	for _, c := range p.conns {
		closing.Go(c.Close)
	}
	closing.Wait()
}
