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

const (
	defaultQueue = 1024
	// oldestEvery makes every 16th grant of the turn go to the message that has waited longest,
	// whatever its priority, so that none starves.
	oldestEvery = 16
	// paceWeight is the share of the newest write in the rate: a change of rate is followed within
	// some ten frames, and one write into an emptied pipe does not undo what was learnt.
	paceWeight = 0.25
	// smallestTuned is the smallest frame that WithWait chooses.
	smallestTuned = 1 << 10
)

// A Mux sends messages of many goroutines over one stream, frame by frame: while a large message is
// under way, a small one waits for one frame of it, not for all. A message of a framing that does
// not chunk goes as one frame.
//
// Each Send writes its own frames when its turn comes; a Mux has no goroutine, needs no closing,
// and copies nothing. Nothing else may write to the stream.
type Mux struct {
	f     Framing
	set   settings
	out   frameWriter
	whole Writer // for a framing that does not chunk
	slots chan struct{}

	mu      sync.Mutex
	busy    bool // someone has the turn
	grants  int
	waiting []*waiter // for their turn, the longest waiting first
	// perSecond is how many bytes per second the stream takes, for WithWait; 0: not known yet. A
	// write into a pipe with room is as fast as memory. A write into a full pipe is as fast as the
	// reader drains it, and only then do frames queue.
	perSecond float64
}

// A waiter is a Send that waits for its turn.
type waiter struct {
	priority int
	granted  chan struct{}
}

// NewMux returns a Mux that sends messages framed by f to w. It takes the options WithIDs,
// WithMaxMessage, WithVerbatim, WithQueue, WithWait and WithWriteSize. With a write size, all
// writes of a frame belong to one turn: nothing comes between them.
func NewMux(w io.Writer, f Framing, opts ...Option) *Mux {
	m := &Mux{f: f, set: newSettings(opts)}
	m.out = newFrameWriter(w, m.set.writeSize)
	m.slots = make(chan struct{}, m.set.queue)
	own := m.set
	// Sends run at once, but a source of ids need not be safe for that.
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

// Send sends msg and returns when its last frame has been written. It is safe for concurrent use;
// msg must not change until it returns. The next frame belongs to the message of the highest
// priority; messages of equal priority take turns. Every sixteenth frame belongs to the message
// that has waited longest.
//
// When ctx ends, Send returns its error, at the latest when it next waits for its turn. A write
// that blocks cannot be taken back: it ends when the stream ends, or by a deadline set on the
// stream. If chunks of the message have been sent, the receiver keeps them until they expire.
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
		if err := m.acquire(ctx, t, sent > 0); err != nil {
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

// write sends a frame. Under WithWait it measures how long that takes, which decides the size of
// later frames.
func (m *Mux) write(frame [][]byte) error {
	switch {
	case m.whole != nil:
		return m.whole.WriteMessage(frame[0])
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
	// The average is taken over the time per byte. In an average of rates one fast write would
	// outweigh all slow ones.
	m.perSecond = 1 / ((1-paceWeight)/cmp.Or(m.perSecond, rate) + paceWeight/rate)
	return nil
}

// frames yields the frames of msg, or msg itself if the framing does not chunk.
func (m *Mux) frames(msg []byte) iter.Seq[[][]byte] {
	switch f := m.f.(type) {
	case chunked:
		return f.frames(msg, &m.set, m.FrameSize())
	case Chunker:
		return f.Frames(msg)
	}
	return func(yield func([][]byte) bool) { yield([][]byte{msg}) }
}

// FrameSize returns the most bytes of a frame of the next message: the framing's size or, under
// WithWait, the size that the stream's rate allows. It is 0 for a framing that does not chunk or is
// of another package.
func (m *Mux) FrameSize() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, _ := m.f.(chunked)
	if m.set.wait <= 0 || m.perSecond == 0 {
		return c.size
	}
	return int(min(max(m.perSecond*m.set.wait.Seconds(), smallestTuned), float64(c.size)))
}

// acquire gets the turn for t; holding says that t has the turn already. If acquire returns an
// error, the caller does not have the turn.
func (m *Mux) acquire(ctx context.Context, t *waiter, holding bool) error {
	m.mu.Lock()
	if holding && ctx.Err() != nil {
		m.grantNext()
		m.mu.Unlock()
		return ctx.Err()
	}
	if holding && len(m.waiting) == 0 || !holding && !m.busy {
		m.busy = true
		m.mu.Unlock()
		return nil
	}
	if t.granted == nil {
		t.granted = make(chan struct{}, 1)
	}
	m.waiting = append(m.waiting, t)
	if holding {
		m.grantNext()
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
		m.grantNext() // the turn was granted meanwhile: pass it on
	}
	return ctx.Err()
}

func (m *Mux) release() {
	m.mu.Lock()
	m.grantNext()
	m.mu.Unlock()
}

// grantNext grants the turn to the waiter that is due. The caller has the turn and holds the lock.
func (m *Mux) grantNext() {
	if len(m.waiting) == 0 {
		m.busy = false
		return
	}
	next := 0
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

// WithWait makes a Mux choose the size of its frames while it runs: the rate at which the stream
// takes bytes, times d. So a message waits about d for a frame of another message that is under
// way. The framing's size is the largest; the smallest is 1 KiB, or the framing's size if that is
// less. Zero, the default, leaves every frame at the framing's size.
//
// All frames of a message have the size chosen when it begins, since each of them states how many
// there are. The size bounds only the wait for a frame; the bytes that the pipe holds already take
// additional time.
func WithWait(d time.Duration) Option { return func(s *settings) { s.wait = d } }
