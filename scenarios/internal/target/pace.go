package target

import (
	"time"

	"github.com/pipebench/pipebench/results/stat"
)

// A Pace predicts how long a server takes for a message. The zero Pace is for an unknown server.
type Pace struct {
	Size int           // bytes of the largest message that was answered
	Took time.Duration // the time that this message took
}

// perByte is the time per byte that we expect of an unknown server: twice that of the slowest
// server that was measured.
const perByte = 800 * time.Nanosecond

// Predict returns the time for a message of size bytes, as if the time grew linearly with the size.
func (p Pace) Predict(size int) time.Duration {
	switch {
	case p.Size == 0:
		return time.Duration(size) * perByte
	case size <= p.Size:
		return p.Took
	case p.Size < stat.LinearFrom: // p.Took is mostly a cost that every message has
		return p.Took + time.Duration(size-p.Size)*perByte
	}
	return time.Duration(float64(p.Took) * float64(size) / float64(p.Size))
}

// Margin is the factor by which a server may be slower than predicted.
const Margin = 10

// Limit returns how long a server may take for size bytes: patience plus Margin times the
// prediction.
func (p Pace) Limit(patience time.Duration, size int) time.Duration {
	return patience + Margin*p.Predict(size)
}
