package target

import (
	"time"

	"github.com/pipebench/pipebench/results/stat"
)

// A Pace predicts how long a server takes from the time that it took for another size.
type Pace struct {
	Size int // bytes of the largest message that was answered
	Took time.Duration
}

// firstGuess is the pace of a server that nothing is known about: twice that of the slowest server
// that was measured, an SDK example that logs what it gets.
const firstGuess = 800 * time.Nanosecond // a byte

// Predict returns how long a message of size bytes takes if time grows as size does. The time for a
// small message is mostly a cost that every message has, and says little about a large one.
func (p Pace) Predict(size int) time.Duration {
	switch {
	case p.Size == 0:
		return time.Duration(size) * firstGuess
	case size <= p.Size:
		return p.Took
	case p.Size < stat.LinearFrom:
		return p.Took + time.Duration(size-p.Size)*firstGuess
	}
	return time.Duration(float64(p.Took) * float64(size) / float64(p.Size))
}

// Margin is how much slower than predicted a server may be.
const Margin = 10

// Limit returns how long a server of that pace may take for a request of size bytes: patience,
// which it has for any request, and Margin times the predicted time.
func (p Pace) Limit(patience time.Duration, size int) time.Duration {
	return patience + Margin*p.Predict(size)
}
