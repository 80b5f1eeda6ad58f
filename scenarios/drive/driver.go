package drive

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// A Driver drives one server, and starts it again whenever it fails.
type Driver struct {
	o       Options
	dialect dialect
	backoff backoff
	pace    forecast
	refusal string        // the code of the error that a server gives for an unknown method
	least   map[int]int64 // round trips of a size that are demanded of a sweep

	folder string // of the documents, ours to remove; "" where there are none

	mu       sync.Mutex
	c        *conn                   // nil between a failure and the next start
	starting context.CancelCauseFunc // gives up the start that is under way; nil while none is
	closed   bool
	starts   int

	stillborn int // starts after a failure that came to nothing, and that no record tells of yet
}

// Open starts the server, finds out what it speaks, and shakes hands. It fails with a [*StartError] if the command cannot be run at all, and
// with an [*UnfitError] if it cannot be spoken to.
func Open(ctx context.Context, o Options) (*Driver, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Driver{o: o, backoff: newBackoff(o.Seed)}
	if err := d.prepare(); err != nil {
		return nil, err
	}
	if err := d.meet(ctx); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// prepare makes the empty folder that a language server's documents are said to lie in: some servers look around where a document lies.
func (d *Driver) prepare() (err error) {
	if d.o.Request != RequestDocument {
		return nil
	}
	if d.folder, err = os.MkdirTemp("", "pipebench-documents-"); err != nil {
		return fmt.Errorf("drive: a folder for documents: %w", err)
	}
	d.o.root = fileURI(d.folder)
	return nil
}

// meet starts the server, and learns what there is to know of it.
func (d *Driver) meet(ctx context.Context) error {
	make, err := dialectNamed(d.o.Protocol)
	if err != nil {
		return err
	}
	if make != nil {
		d.dialect = make(d.o)
	} else if d.dialect, d.c, err = detect(ctx, d.o); err != nil {
		return err
	}
	if err := checkRequest(d.dialect, d.o); err != nil {
		return err
	}
	if d.c == nil {
		if d.c, err = d.greeted(ctx); err != nil {
			return err
		}
	}
	d.starts = 1
	return d.calibrate(ctx)
}

// greeted starts the server and shakes hands.
func (d *Driver) greeted(ctx context.Context) (*conn, error) {
	c, err := dial(d.o, d.dialect.framing())
	if err != nil {
		return nil, err
	}
	c.hear(d.dialect.answer())
	if err := d.welcome(ctx, c); err != nil {
		if ctx.Err() != nil {
			c.hangUp(false)
			return nil, context.Cause(ctx)
		}
		return nil, unfit(d.o, c, err)
	}
	return c, nil
}

// welcome shakes hands with a server that has just been started.
func (d *Driver) welcome(ctx context.Context, c *conn) error {
	if err := d.dialect.greet(ctx, c, d.o.Start); err != nil {
		return err
	}
	return d.awaken(ctx, c)
}

// awaken asks a server that was not asked anything in the handshake for a first sign of life, so that its start is no part of the time that a
// later answer has.
func (d *Driver) awaken(ctx context.Context, c *conn) error {
	if c.settled.Load() > 0 {
		return nil
	}
	s, err := d.smallest(askTransport)
	if err != nil {
		return err
	}
	if _, err := c.ask(ctx, s.number(0), d.o.Start); err != nil {
		return fmt.Errorf("a first request: %w", err)
	}
	return nil
}

// Protocol is what the server speaks, with the revision where there is one: "mcp 2025-11-25", "lines".
func (d *Driver) Protocol() string { return d.dialect.String() }

// Framing is the spec of how it tells messages apart.
func (d *Driver) Framing() string { return d.dialect.framing().String() }

// Request says in words what the driver sends.
func (d *Driver) Request() string { return describe(d.dialect) }

func describe(d dialect) string {
	switch d := d.(type) {
	case *mcp:
		if d.tool != "" {
			return compared("tool "+d.tool, d.echoes)
		}
	case *lines:
		return compared("lines", d.echoes)
	case *lsp:
		if d.document != nil {
			return fmt.Sprintf("documents of language %s, opened, their symbols asked for, and closed", d.document.language)
		}
	}
	return "method " + unknownMethod + ", which is to be refused"
}

func compared(what string, echoes bool) string {
	if echoes {
		return what + ", its answers compared byte by byte"
	}
	return what
}

// Starts is how often the server was started.
func (d *Driver) Starts() int { return d.starts }

// Close ends the server. It may be called by anyone, ends what is under way, and may be called again.
func (d *Driver) Close() error {
	d.end(true)
	return nil
}

// end ends the server; one that is not worth the wait is not given time to leave.
func (d *Driver) end(politely bool) {
	d.mu.Lock()
	c, starting := d.c, d.starting
	d.c, d.closed = nil, true
	d.mu.Unlock()
	if starting != nil {
		starting(errClosed)
	}
	if c != nil {
		c.hangUp(politely)
	}
	if d.folder != "" {
		os.RemoveAll(d.folder) // a server may have left something in it; a folder that stays is no failure of the server's
	}
}

// live returns the running server, and starts it if it is not running.
func (d *Driver) live(ctx context.Context) (*conn, error) {
	if c := d.running(); c != nil {
		return c, nil
	}
	return d.revive(ctx)
}

// running is the server, nil where none runs.
func (d *Driver) running() *conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.c
}

// revive starts the server again, unless the driver is closed, or closed meanwhile.
func (d *Driver) revive(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d.mu.Lock()
	closed := d.closed
	d.starting = cancel
	d.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	c, err := d.restart(ctx)
	if err != nil {
		return nil, err
	}
	if !d.adopt(c) {
		c.hangUp(false)
		return nil, errClosed
	}
	return c, nil
}

// adopt takes a server that was started for the running one, unless the driver was closed before.
func (d *Driver) adopt(c *conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.starting = nil
	if d.closed {
		return false
	}
	d.c = c
	d.starts++
	return true
}

// mostTries is how often a server is started again before it is given up: one that does not come to life once may the next time, and a sweep
// is not thrown away for it.
const mostTries = 3

// restart starts a server that was running before.
func (d *Driver) restart(ctx context.Context) (*conn, error) {
	for tries := 1; ; tries++ {
		if err := d.backoff.wait(ctx); err != nil {
			return nil, err
		}
		c, err := d.greeted(ctx)
		switch {
		case err == nil:
			d.backoff.reset()
			return c, nil
		case ctx.Err() != nil:
			return nil, err
		case tries == mostTries:
			return nil, fmt.Errorf("start it again, %d times: %w", tries, err)
		}
		d.stillborn++
	}
}

// discard ends a server that failed. The next request gets a new one.
func (d *Driver) discard(c *conn) {
	c.hangUp(false)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.c == c {
		d.c = nil
	}
}

// calibrate sends small requests, to learn how the server refuses, and whether its answers hold what was sent.
func (d *Driver) calibrate(ctx context.Context) error {
	out, err := d.try(ctx, askTransport)
	if err != nil {
		return err
	}
	d.refusal = out.code
	echoes := d.dialect.compares()
	if echoes == nil {
		return nil
	}
	*echoes = true
	out, err = d.try(ctx, askTool)
	*echoes = out.verdict == OK && out.code == ""
	return err
}

// try makes one small request.
func (d *Driver) try(ctx context.Context, a ask) (outcome, error) {
	s, err := d.smallest(a)
	if err != nil {
		return outcome{}, err
	}
	return d.trip(ctx, s, 0)
}

// request makes a request of exactly size bytes.
func (d *Driver) request(a ask, size int) (*shape, error) {
	s, err := d.dialect.request(a, size)
	if err == nil {
		s.refusal = d.refusal
	}
	return s, err
}

// fitting makes a request of size bytes, or of as few as it takes.
func (d *Driver) fitting(a ask, size int) (*shape, error) {
	s, err := d.request(a, size)
	if least, small := leastOf(err); small {
		return d.request(a, least)
	}
	return s, err
}

// smallest is a request that any server takes.
func (d *Driver) smallest(a ask) (*shape, error) {
	s, err := d.request(a, 0)
	if least, ok := leastOf(err); ok {
		return d.request(a, least+4*stampDigits)
	}
	return s, err
}

// A backoff is how long to wait before a server is started again: doubling from 100 ms to 30 s, a random part of it, from the start again
// after one that was ready.
type backoff struct {
	next time.Duration
	rand *rand.Rand
}

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 30 * time.Second
)

func newBackoff(seed int64) backoff {
	return backoff{rand: rand.New(rand.NewPCG(uint64(seed), 0x6261636b6f6666))}
}

func (b *backoff) reset() { b.next = 0 }

// pause draws the next pause. The first start after one that was ready is at once: a server that fails at a size is no crash loop.
func (b *backoff) pause() time.Duration {
	bound := b.next
	b.next = min(max(2*b.next, firstPause), longestPause)
	if bound == 0 {
		return 0
	}
	return time.Duration(b.rand.Int64N(int64(bound)))
}

func (b *backoff) wait(ctx context.Context) error {
	timer := time.NewTimer(b.pause())
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leastOf is the smallest size that could be had, where a size was too small.
func leastOf(err error) (int, bool) {
	var small *SizeError
	if errors.As(err, &small) {
		return small.Least, true
	}
	return 0, false
}
