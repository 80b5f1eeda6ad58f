package framers

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
)

const (
	defaultQueue = 1024
	// agedTurn is how often a frame goes to whoever has waited longest, whatever its priority, so that none starves.
	agedTurn = 16
)

// A Mux sends messages of many goroutines over one stream, frame by frame: while a large message is under way, a small one
// waits for one frame of it, not for all. A message of a framing that does not chunk goes as one frame.
//
// Each Send writes its own frames when its turn comes; a Mux has no goroutine, needs no closing, and copies nothing.
// Nothing else may write to the stream.
type Mux struct {
	f     Framing
	set   settings
	out   outlet
	whole Writer // for a framing that does not chunk
	slots chan struct{}

	mu      sync.Mutex
	busy    bool // someone has the turn
	turns   int
	waiting []*turn // for their turn, the longest waiting first
	pace    pace
}

// A sized framing splits by a size that can be another.
type sized interface {
	frameSize() int
	resized(size int) splitter
}

// A splitter makes frames under ids of its settings.
type splitter interface {
	frames(msg []byte, s *settings) iter.Seq[[][]byte]
}

// A turn is what a Send waits for.
type turn struct {
	priority int
	granted  chan struct{}
}

// NewMux returns a Mux that sends messages framed by f to w. Of the options it takes WithIDs, WithMaxMessage, WithVerbatim,
// WithQueue and WithWait.
func NewMux(w io.Writer, f Framing, opts ...Option) *Mux {
	m := &Mux{f: f, set: newSettings(opts), out: newOutlet(w)}
	m.slots = make(chan struct{}, m.set.queue)
	ids := m.set.ids
	m.set.ids = func() [16]byte { // one call at a time, as a Writer makes them
		m.mu.Lock()
		defer m.mu.Unlock()
		return ids()
	}
	if sized, ok := f.(sized); ok {
		m.pace = pace{wait: m.set.wait, most: sized.frameSize()}
	}
	if _, ok := f.(Chunker); !ok {
		m.whole = f.NewWriter(w, opts...)
	}
	return m
}

// Send sends msg and returns when its last frame has been written. It is safe for concurrent use; msg must not change
// until it returns. The next frame is one of the message of the highest priority; equal priorities take turns, and every
// sixteenth frame is one of the message that has waited longest.
//
// When ctx ends, Send returns its error as soon as it waits for its turn. A write that the stream blocks cannot be taken
// back: it ends when the stream does, or by a deadline set there. Of a message that was under way the receiver keeps the
// chunks it has until they expire.
func (m *Mux) Send(ctx context.Context, priority int, msg []byte) error {
	if o, ok := m.f.(own); ok {
		if err := check(o, msg, &m.set); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	select {
	case m.slots <- struct{}{}:
	default:
		select {
		case m.slots <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("send message: queue of %d is full: %w", cap(m.slots), ctx.Err())
		}
	}
	defer func() { <-m.slots }()
	if m.whole != nil {
		return m.sendWhole(ctx, priority, msg)
	}
	return m.sendFrames(ctx, priority, msg)
}

func (m *Mux) sendWhole(ctx context.Context, priority int, msg []byte) error {
	t := &turn{priority: priority}
	if err := m.take(ctx, t, false); err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	defer m.release()
	return m.whole.WriteMessage(msg)
}

func (m *Mux) sendFrames(ctx context.Context, priority int, msg []byte) error {
	t := &turn{priority: priority}
	sent := 0
	for frame := range m.frames(msg) {
		if err := m.take(ctx, t, sent > 0); err != nil {
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

// write sends a frame, and looks at how long it takes if that decides the size of the next ones.
func (m *Mux) write(frame [][]byte) error {
	if m.pace.wait <= 0 {
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
	m.mu.Lock()
	m.pace.wrote(n, took)
	m.mu.Unlock()
	return nil
}

func (m *Mux) frames(msg []byte) iter.Seq[[][]byte] {
	if f, ok := m.f.(sized); ok {
		return f.resized(m.FrameSize()).frames(msg, &m.set)
	}
	return m.f.(Chunker).Frames(msg)
}

// FrameSize returns the bytes that bound a frame of the next message: the framing's size, or under WithWait what the
// stream's rate makes of it. It is 0 for a framing that does not chunk, or is not of this package.
func (m *Mux) FrameSize() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pace.frame()
}

// take gets the turn for t, which has it already if holding. Without an error the caller has the turn; with one it has not.
func (m *Mux) take(ctx context.Context, t *turn, holding bool) error {
	m.mu.Lock()
	if holding && ctx.Err() != nil {
		m.pass()
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
		m.pass()
	}
	m.mu.Unlock()
	select {
	case <-t.granted:
		return nil
	case <-ctx.Done():
	}
	return m.withdraw(ctx, t)
}

// withdraw takes t off the queue, or passes on the turn that it was granted meanwhile.
func (m *Mux) withdraw(ctx context.Context, t *turn) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.waiting, t); i >= 0 {
		m.waiting = slices.Delete(m.waiting, i, i+1)
	} else {
		m.pass()
	}
	return ctx.Err()
}

func (m *Mux) release() {
	m.mu.Lock()
	m.pass()
	m.mu.Unlock()
}

// pass grants the turn to whom it is due. The caller has it, and the lock.
func (m *Mux) pass() {
	if len(m.waiting) == 0 {
		m.busy = false
		return
	}
	next := 0
	if m.turns++; m.turns%agedTurn != 0 {
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
