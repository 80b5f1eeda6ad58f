package framers

import "time"

// WithWait has a Mux choose the size of its frames while it runs, so that a message waits about d for a frame of another
// one that is under way: the rate at which the stream takes bytes, times d. The framing's size is the largest; the
// smallest is 1 KiB, or the framing's size where that is less. Zero, the default, leaves every frame at the framing's size.
//
// A message is split by the size chosen when it begins, since every frame of it states how many there are. What is chosen
// bounds the wait for the frame; the bytes that the pipe holds already take their time besides.
func WithWait(d time.Duration) Option { return func(s *settings) { s.wait = d } }

const (
	smallestTuned = 1 << 10
	// paceWeight is the share of the newest write in the rate: a change of rate is followed within some ten frames, and
	// one write into an emptied pipe does not undo what was learnt.
	paceWeight = 0.25
)

// A pace is how fast a stream takes bytes. A write into a pipe with room is as fast as memory; into a full one it is as
// fast as the reader drains it, and that is when frames queue.
type pace struct {
	wait      time.Duration
	most      int     // the framing's size
	perSecond float64 // 0: not known yet
}

// wrote takes in a write of n bytes.
func (p *pace) wrote(n int, took time.Duration) {
	rate := float64(n) / max(took.Seconds(), 1e-9)
	if p.perSecond == 0 {
		p.perSecond = rate
		return
	}
	// The average is of the time a byte takes, not of rates, of which one fast write would outweigh all slow ones.
	p.perSecond = 1 / ((1-paceWeight)/p.perSecond + paceWeight/rate)
}

// frame returns the size to split the next message by.
func (p *pace) frame() int {
	if p.wait <= 0 || p.perSecond == 0 {
		return p.most
	}
	least := min(smallestTuned, p.most)
	return int(min(max(p.perSecond*p.wait.Seconds(), float64(least)), float64(p.most)))
}
