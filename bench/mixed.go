package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
)

// PatternMixed is the pattern "mixed": large messages are sent without pause, and small ones at a
// fixed rate. Small messages go first, and only their latency is measured.
const PatternMixed = results.PatternMixed

// SmallSize is the length in bytes of a small message in the pattern "mixed". A notification has
// about this length.
const SmallSize = 256

// Priorities of messages in a [framers.Mux], which sends messages of the higher priority first.
const (
	largePriority = iota
	smallPriority
)

// mixed is the state of an endpoint in the pattern "mixed". The times of small messages are not
// here but in the endpoint's load.
type mixed struct {
	small *payload.Source
	mux   *framers.Mux // nil at the end that receives
	out   [][]byte     // small messages to send, each in its own memory, as several may wait

	large int64 // how many large messages were sent, or received
	bytes int64 // payload received
	last  int64 // when the last message arrived, on the shared clock
}

// isMixed reports whether the endpoint moves both large and small messages now. In the warm-up all
// messages are large.
func (e *endpoint) isMixed() bool { return e.Cell.Pattern == PatternMixed && e.load != nil }

// A muxWriter sends large messages, one at a time, through a Mux, which lets small ones overtake
// them.
type muxWriter struct{ mux *framers.Mux }

func (w muxWriter) WriteMessage(msg []byte) error {
	return w.mux.Send(context.Background(), largePriority, msg)
}

// newMixed returns the state for a sample with n small messages. All samples share one Mux.
func (e *endpoint) newMixed(n int64) (mixed, error) {
	m := mixed{mux: e.mixed.mux}
	var err error
	m.small, err = payload.Generate("json", SmallSize, e.Seed)
	if err != nil || e.Role != sender {
		return m, err
	}
	for i := range n {
		m.out = append(m.out, slices.Clone(m.small.Message(i)))
	}
	return m, nil
}

// sendMixed sends small messages when they fall due, and large ones without pause. A final small
// message, with a number above all others, tells the receiver that nothing follows.
func (e *endpoint) sendMixed() error {
	minimiseTimerSlack()
	e.clock.await(e.load.schedule.start, false) // do not spin
	var smallDone atomic.Bool
	large := make(chan error, 1)
	// Send large messages in another goroutine. This one is locked to its thread, so if it sent
	// them, each change between large and small messages would switch threads.
	go func() { large <- e.sendLarge(&smallDone) }()
	err := e.sendSmall()
	smallDone.Store(true)
	if err := errors.Join(err, <-large); err != nil {
		return err
	}
	end := e.mixed.small.Message(e.Messages)
	return e.mixed.mux.Send(context.Background(), largePriority, end)
}

func (e *endpoint) sendLarge(smallDone *atomic.Bool) error {
	for !smallDone.Load() {
		number := e.Warmup + e.mixed.large
		err := e.mixed.mux.Send(context.Background(), largePriority, e.source.Message(number))
		if err != nil {
			return fmt.Errorf("send large message %d: %w", number, err)
		}
		e.mixed.large++
	}
	return nil
}

// sendSmall sends each small message when it falls due, even if earlier small messages still wait.
func (e *endpoint) sendSmall() error {
	l := e.load
	var waiting sync.WaitGroup
	failed := make([]error, e.Messages)
	for i := range e.Messages {
		e.clock.await(l.schedule.due(i), false) // do not spin
		l.sent[i] = e.clock.now()
		waiting.Go(func() {
			failed[i] = e.mixed.mux.Send(context.Background(), smallPriority, e.mixed.out[i])
		})
		// The Go scheduler does not notice when await sleeps, so let the new goroutine run first.
		runtime.Gosched()
	}
	waiting.Wait()
	l.total.Store(e.Messages)
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("send small messages: %w", err)
	}
	return nil
}

// receiveMixed receives messages until the final one. Small messages may overtake each other.
func (e *endpoint) receiveMixed() error {
	m := &e.mixed
	check := e.checker()
	for {
		msg, err := e.r.ReadMessage()
		if err != nil {
			return fmt.Errorf("receive, after %d large and %d small messages: %w",
				m.large, e.load.delivered.Load(), err)
		}
		now := e.clock.now()
		if len(msg) == SmallSize {
			last, err := e.takeSmall(msg, now)
			if last || err != nil {
				return err
			}
		} else {
			if err := check(e.Warmup+m.large, msg); err != nil {
				return err
			}
			m.large++
		}
		e.touch(msg)
		m.bytes += int64(len(msg))
		m.last = now
	}
}

// takeSmall checks a small message, which arrived at the time now. The result last is true if no
// message follows.
func (e *endpoint) takeSmall(msg []byte, now int64) (last bool, err error) {
	l := e.load
	number, err := e.mixed.small.Number(msg)
	if err != nil {
		return false, err
	}
	if err := e.mixed.small.Check(number, msg); err != nil {
		return false, err
	}
	switch {
	case number == e.Messages:
		return true, nil
	case number > e.Messages || l.received[number] != 0:
		return false, fmt.Errorf("small message %d came twice, or was never sent", number)
	}
	l.received[number] = now
	l.delivered.Add(1)
	return false, nil
}

// finishMixed makes the receiver's report, with the latencies of the small messages. The sender
// only tells the receiver what was sent, and when.
func (e *endpoint) finishMixed() error {
	l := e.load
	m := &e.mixed
	if e.Role == sender {
		return e.handOver(m.large)
	}
	sent, err := e.takeOver()
	if err != nil {
		return err
	}
	small := l.delivered.Load()
	if small != e.Messages || m.large != sent {
		return fmt.Errorf("%d large and %d small messages were sent, %d and %d received",
			sent, e.Messages, m.large, small)
	}
	e.report.Messages = m.large + small
	e.report.PayloadBytes = m.bytes
	e.report.ElapsedNS = m.last - l.schedule.start
	// Every message is sent, so the rate is missed only if messages are sent too late.
	end := max(l.schedule.due(small), slices.Max(l.sent))
	e.report.Load = &results.Load{
		Due: small, Sent: small,
		Achieved: float64(small) / (float64(end-l.schedule.start) / 1e9),
	}
	return e.addLoadLatencies("oneway", small)
}

// readQuantum is the most bytes that a slowReader reads at once. The reader pauses between reads.
// After larger reads, the pauses in which a small message waits would be longer.
const readQuantum = 4 << 10

// A slowReader reads from in at a limited pace, like a program that works on each byte. It belongs
// to one goroutine.
type slowReader struct {
	in    io.Reader
	pace  pace
	clock *clock
	spin  bool // keep the CPU busy while waiting, as no other end uses it
}

// Read first waits until the reader is done with the bytes of earlier reads.
func (s *slowReader) Read(p []byte) (int, error) {
	s.clock.await(s.pace.Next, s.spin)
	n, err := s.in.Read(p[:min(len(p), readQuantum)])
	s.pace.Take(n, s.clock.now())
	return n, err
}

// validateMixed returns an error if c has the pattern "mixed" and a field that does not fit that
// pattern, or another pattern and a field that only fits "mixed".
func validateMixed(c results.Cell) error {
	if c.Pattern != PatternMixed {
		if c.FrameWait != "" {
			return errors.New("a frame wait is for the pattern mixed: " +
				"its messages wait for frames")
		}
		return nil
	}
	if c.FrameWait != "" {
		if _, err := results.ParseFrameWait(c.FrameWait); err != nil {
			return err
		}
	}
	switch {
	case c.Rate <= 0:
		return errors.New("mixed needs a rate: how many small messages fall due per second")
	case c.Framing == results.FramingRaw:
		return errors.New("mixed needs a framing that tells messages apart: raw does not")
	case c.Messages != "" || c.Size <= SmallSize:
		return fmt.Errorf("mixed needs large messages of one size above %d B", SmallSize)
	case c.FrameWait != "" && !splits(c.Framing):
		return fmt.Errorf("a frame wait is for a framing that splits messages: %s does not",
			c.Framing)
	case c.Inflight > 1 || c.Batch > 1 || c.Transfer != "" || c.ClosesAfter > 0:
		return errors.New("mixed is a load of its own: " +
			"leave out inflight, batch, transfer and closes_after")
	}
	return nil
}

// splits reports whether the framing named spec can send one message in several frames.
func splits(spec string) bool {
	f, err := parseFraming(spec)
	if err != nil {
		return false
	}
	_, chunks := f.(framers.Chunker)
	return chunks
}
