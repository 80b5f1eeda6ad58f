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
	o        Options
	protocol protocol
	backoff  backoff
	pace     deadlineModel
	refusal  string        // the code of the error that a server gives for an unknown method
	least    map[int]int64 // round trips of a size that are demanded of a sweep

	folder string // of the documents, ours to remove; "" where there are none

	mu       sync.Mutex
	c        *conn                   // nil between a failure and the next start
	starting context.CancelCauseFunc // gives up the start that is under way; nil while none is
	closed   bool
	starts   int

	failedStarts int // after a failure, that no record tells of yet
}

// Open starts the server, finds out what it speaks, and shakes hands. It fails with a [*StartError]
// if the command cannot be run at all, and with a [*HandshakeError] if it cannot be spoken to.
func Open(ctx context.Context, o Options) (*Driver, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Driver{o: o, backoff: newBackoff(o.Seed)}
	if d.o.Request == RequestDocument {
		// Some language servers look around where a document lies: in an empty folder.
		if d.folder, err = os.MkdirTemp("", "pipebench-documents-"); err != nil {
			return nil, fmt.Errorf("drive: a folder for documents: %w", err)
		}
		d.o.root = fileURI(d.folder)
	}
	if err := d.begin(ctx); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// begin starts the server, and learns what there is to know of it.
func (d *Driver) begin(ctx context.Context) (err error) {
	if d.protocol = newProtocol(d.o); d.protocol == nil {
		if d.protocol, d.c, err = detect(ctx, d.o); err != nil {
			return err
		}
	}
	if err := checkRequest(d.protocol, d.o); err != nil {
		return err
	}
	if d.c == nil {
		if d.c, err = d.start(ctx); err != nil {
			return err
		}
	}
	d.starts = 1
	return d.calibrate(ctx)
}

// start starts the server and shakes hands.
func (d *Driver) start(ctx context.Context) (*conn, error) {
	c, err := connect(d.o, d.protocol.about().wire)
	if err != nil {
		return nil, err
	}
	c.speak(d.protocol)
	err = d.protocol.greet(ctx, c, d.o.Start)
	if err == nil && c.whole.Load() == 0 {
		// Nothing was asked in the handshake: a first sign of life keeps the start of the server
		// out of the time that a later answer has.
		var t *requestTemplate
		if t, err = d.smallest(transportRequest); err == nil {
			_, err = c.ask(ctx, t.number(0), d.o.Start)
		}
		if err != nil {
			err = fmt.Errorf("a first request: %w", err)
		}
	}
	switch {
	case err == nil:
		return c, nil
	case ctx.Err() != nil:
		c.shutdown(false)
		return nil, context.Cause(ctx)
	}
	return nil, handshakeError(d.o, c, err)
}

// Protocol returns what the server speaks, with the revision where there is one: "mcp 2025-11-25",
// "lines".
func (d *Driver) Protocol() string { return d.protocol.String() }

// Framing returns the spec of how it tells messages apart.
func (d *Driver) Framing() string { return d.protocol.about().wire.String() }

// Request says in words what the driver sends.
func (d *Driver) Request() string { return d.protocol.describe() }

// Starts returns how often the server was started.
func (d *Driver) Starts() int { return d.starts }

// Close ends the server. It may be called by anyone, ends what is under way, and may be called
// again.
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
		c.shutdown(politely)
	}
	if d.folder != "" {
		os.RemoveAll(d.folder) // a server may have left something in it; a folder that stays is no failure of the server's
	}
}

// live returns the running server, and starts it again if it is not running, unless the driver is
// closed, or closed meanwhile.
func (d *Driver) live(ctx context.Context) (*conn, error) {
	if c := d.running(); c != nil {
		return c, nil
	}
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
	d.mu.Lock()
	d.starting = nil
	if closed = d.closed; !closed {
		d.c = c
		d.starts++
	}
	d.mu.Unlock()
	if closed {
		c.shutdown(false)
		return nil, errClosed
	}
	return c, nil
}

// running returns the server, nil where none runs.
func (d *Driver) running() *conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.c
}

// mostTries is how often a server is started again before it is given up: one that does not come to
// life once may the next time, and a sweep is not thrown away for it.
const mostTries = 3

// restart starts a server that was running before.
func (d *Driver) restart(ctx context.Context) (*conn, error) {
	for tries := 1; ; tries++ {
		if err := d.backoff.wait(ctx); err != nil {
			return nil, err
		}
		c, err := d.start(ctx)
		switch {
		case err == nil:
			d.backoff.next = 0
			return c, nil
		case ctx.Err() != nil:
			return nil, err
		case tries == mostTries:
			return nil, fmt.Errorf("start it again, %d times: %w", tries, err)
		}
		d.failedStarts++
	}
}

// discard ends a server that failed. The next request gets a new one.
func (d *Driver) discard(c *conn) {
	c.shutdown(false)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.c == c {
		d.c = nil
	}
}

// calibrate sends small requests, to learn how the server refuses, and whether its answers hold
// what was sent.
func (d *Driver) calibrate(ctx context.Context) error {
	out, err := d.try(ctx, transportRequest)
	if err != nil {
		return err
	}
	d.refusal = out.code
	about := d.protocol.about()
	if !about.tryEcho {
		return nil
	}
	about.echoes = true
	out, err = d.try(ctx, toolRequest)
	about.echoes = out.verdict == OK && out.code == ""
	return err
}

// try makes one small request.
func (d *Driver) try(ctx context.Context, kind requestKind) (outcome, error) {
	t, err := d.smallest(kind)
	if err != nil {
		return outcome{}, err
	}
	return d.roundTrip(ctx, t, 0)
}

// A templateMaker makes the request that tries a size.
type templateMaker func(size int) (*requestTemplate, error)

// requests returns the maker of requests of a kind.
func (d *Driver) requests(kind requestKind) templateMaker {
	return func(size int) (*requestTemplate, error) {
		t, err := d.protocol.request(kind, size)
		if err == nil {
			t.refusal = d.refusal
		}
		return t, err
	}
}

// fitting makes a request of size bytes, or of as few as it takes.
func (d *Driver) fitting(kind requestKind, size int) (*requestTemplate, error) {
	return d.requests(kind).atLeast(size, 0)
}

// smallest makes a request that any server takes.
func (d *Driver) smallest(kind requestKind) (*requestTemplate, error) {
	return d.requests(kind).atLeast(0, 4*stampDigits)
}

// atLeast makes a request of size bytes, or where that is too small of as few as it takes and spare
// more.
func (m templateMaker) atLeast(size, spare int) (*requestTemplate, error) {
	t, err := m(size)
	if least, small := leastSize(err); small {
		return m(least + spare)
	}
	return t, err
}

// leastSize returns the smallest size that could be had, where a size was too small.
func leastSize(err error) (int, bool) {
	var small *SizeError
	if errors.As(err, &small) {
		return small.Least, true
	}
	return 0, false
}

// A backoff is how long to wait before a server is started again: doubling from 100 ms to 30 s, a
// random part of it, from the start again after one that was ready.
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

// wait pauses. The first start after one that was ready is at once: a server that fails at a size
// is no crash loop.
func (b *backoff) wait(ctx context.Context) error {
	bound, pause := b.next, time.Duration(0)
	b.next = min(max(2*b.next, firstPause), longestPause)
	if bound > 0 {
		pause = time.Duration(b.rand.Int64N(int64(bound)))
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
