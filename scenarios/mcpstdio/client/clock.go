package client

import (
	"math/rand/v2"
	"time"
)

// A Clock tells when time is up. Tests have their own.
type Clock interface {
	// AfterFunc calls f in a goroutine of its own after d, unless stop is called before.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

type systemClock struct{}

func (systemClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// backoff is the time before the next start: full jitter, so that many clients of one machine do not come back together.
type backoff struct {
	first, most time.Duration
	random      func() float64 // in [0, 1)
	failures    int            // since the connection was last ready
}

// next returns a random time up to first × 2^failures, and up to most.
func (b *backoff) next() time.Duration {
	ceiling := b.most
	if doubled := b.first << min(b.failures, 40); doubled > 0 && doubled < b.most && doubled>>min(b.failures, 40) == b.first {
		ceiling = doubled
	}
	b.failures++
	return time.Duration(b.random() * float64(ceiling))
}

func (b *backoff) reset() { b.failures = 0 }

func newBackoff(o *Options) backoff {
	return backoff{first: o.BackoffFirst, most: o.BackoffMost, random: o.Random}
}

var defaultRandom = rand.Float64
