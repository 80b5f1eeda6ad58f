package framers

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"time"
)

// A Mux sends messages of many goroutines over one stream, frame by frame: a small message waits
// for one frame of a large one, not for all of them. A Mux need not be closed. Nothing else may
// write to the stream.
type Mux struct {
	f     Framing
	set   settings
	out   frameWriter
	whole Writer        // sends messages if the framing does not split them, else nil
	slots chan struct{} // has an element for each Send that waits or writes

	mu      sync.Mutex
	busy    bool      // a Send has the turn
	grants  int       // how often grantNext gave the turn to a waiter
	waiting []*waiter // calls of Send that wait for their turn, the longest waiting first
	// perSecond is the average rate of the writes in bytes per second, 0 before the first.
	perSecond float64
}

// A waiter is a call of Send that waits for its turn to send a frame.
type waiter struct {
	priority int
	granted  chan struct{} // receives an element when the Send has the turn
}

const (
	defaultQueue = 1024
	// oldestEvery gives every 16th turn to the message that has waited longest, so that no message
	// waits for ever.
	oldestEvery = 16
	// paceWeight is the share that the newest write has in the average rate. With this share, the
	// average adapts within some ten frames, and a single odd write changes it little.
	paceWeight = 0.25
	// smallestTuned is the size, in bytes, of the smallest frame that WithWait chooses.
	smallestTuned = 1 << 10
)

// NewMux returns a Mux that sends messages framed by f to w. It takes the options WithIDs,
// WithMaxMessage, WithVerbatim, WithQueue, WithWait and WithWriteSize.
func NewMux(w io.Writer, f Framing, opts ...Option) *Mux {
	m := &Mux{f: f, set: newSettings(opts)}
	m.out = newFrameWriter(w, m.set.writeSize)
	m.slots = make(chan struct{}, m.set.queue)
	own := m.set
	// Calls of Send run concurrently, but a source of ids need not be safe for concurrent use.
	m.set.ids = func() [16]byte {
		m.mu.Lock()
		defer m.mu.Unlock()
		return own.id()
	}
	if _, ok := f.(Chunker); !ok {
		m.whole = f.NewWriter(w, opts...)
	}
	return m
}

// Send sends msg and returns when its last frame has been written. Until then msg must not change.
// Send is safe for concurrent use.
//
// The next frame belongs to the waiting message with the largest priority. Messages of equal
// priority take turns. Every 16th frame belongs to the message that has waited longest.
//
// If ctx ends while Send waits, or between two frames, Send returns the error of ctx. To end a
// write that blocks, set a deadline on the stream.
func (m *Mux) Send(ctx context.Context, priority int, msg []byte) error {
	if err := check(m.f, msg, &m.set); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	select {
	case m.slots <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("send message: queue of %d is full: %w", cap(m.slots), ctx.Err())
	}
	defer func() { <-m.slots }()
	t := &waiter{priority: priority}
	sent := 0
	for frame := range m.frames(msg) {
		hasTurn := sent > 0
		if err := m.acquire(ctx, t, hasTurn); err != nil {
			return fmt.Errorf("send message: after %d frames: %w", sent, err)
		}
		if err := m.write(frame); err != nil {
			m.release()
			return err
		}
		sent++
	}
	if sent > 0 {
		m.release()
	}
	return nil
}

// write sends a frame. If WithWait is set, it also measures the rate of the write.
func (m *Mux) write(frame [][]byte) error {
	switch {
	case m.whole != nil:
		return m.whole.WriteMessage(frame[0]) // the message itself: see frames
	case m.set.wait <= 0:
		return m.out.send(frame...)
	}
	start := m.set.now()
	if err := m.out.send(frame...); err != nil {
		return err
	}
	took := m.set.now().Sub(start)
	n := 0
	for _, piece := range frame {
		n += len(piece)
	}
	rate := float64(n) / max(took.Seconds(), 1e-9)
	m.mu.Lock()
	defer m.mu.Unlock()
	// Average the seconds per byte. In an average of bytes per second, one fast write would
	// outweigh all slow ones.
	before := cmp.Or(m.perSecond, rate)
	m.perSecond = 1 / ((1-paceWeight)/before + paceWeight/rate)
	return nil
}

// frames yields the frames of msg, or msg itself if the framing does not split messages.
func (m *Mux) frames(msg []byte) iter.Seq[[][]byte] {
	switch f := m.f.(type) {
	case chunked:
		return f.frames(msg, &m.set, m.FrameSize())
	case Chunker:
		return f.Frames(msg)
	}
	return func(yield func([][]byte) bool) { yield([][]byte{msg}) }
}

// FrameSize returns the most bytes that a frame of the next message will have: the framing's size,
// or less with WithWait. It is 0 if the framing does not split messages, or is of another package.
func (m *Mux) FrameSize() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, _ := m.f.(chunked) // for any other framing, c.size is 0
	if m.set.wait <= 0 || m.perSecond == 0 {
		return c.size
	}
	return int(min(max(m.perSecond*m.set.wait.Seconds(), smallestTuned), float64(c.size)))
}

// acquire waits until t has the turn, which means that t may send its next frame. If hasTurn is
// true, t still has the turn from its previous frame. After an error, t does not have the turn.
func (m *Mux) acquire(ctx context.Context, t *waiter, hasTurn bool) error {
	m.mu.Lock()
	if hasTurn && ctx.Err() != nil {
		m.grantNext()
		m.mu.Unlock()
		return ctx.Err()
	}
	if hasTurn && len(m.waiting) == 0 || !hasTurn && !m.busy { // no other Send wants the turn
		m.busy = true
		m.mu.Unlock()
		return nil
	}
	if t.granted == nil {
		t.granted = make(chan struct{}, 1)
	}
	m.waiting = append(m.waiting, t)
	if hasTurn {
		m.grantNext() // to another waiter, or to t again
	}
	m.mu.Unlock()
	select {
	case <-t.granted:
		return nil
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.waiting, t); i >= 0 {
		m.waiting = slices.Delete(m.waiting, i, i+1)
	} else {
		m.grantNext() // the turn was granted in the meantime: pass it on
	}
	return ctx.Err()
}

func (m *Mux) release() {
	m.mu.Lock()
	m.grantNext()
	m.mu.Unlock()
}

// grantNext gives the turn, the right to send a frame, to the next waiter. If nobody waits, the
// turn becomes free. The caller must have the turn and hold m.mu.
func (m *Mux) grantNext() {
	if len(m.waiting) == 0 {
		m.busy = false
		return
	}
	next := 0 // the longest waiting
	m.grants++
	if m.grants%oldestEvery != 0 {
		for i, t := range m.waiting {
			if t.priority > m.waiting[next].priority {
				next = i
			}
		}
	}
	t := m.waiting[next]
	m.waiting = slices.Delete(m.waiting, next, next+1)
	t.granted <- struct{}{}
}

// WithWait makes a Mux choose the size of its frames, so that a message waits about d while a frame
// of another message is being written. The size is between 1 KiB and the size of the framing. If d
// is zero, the default, every frame may have the size of the framing.
func WithWait(d time.Duration) Option { return func(s *settings) { s.wait = d } }
