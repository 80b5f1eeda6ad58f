package client

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// A manualClock keeps timers until a test says that their time is up.
type manualClock struct {
	mu     sync.Mutex
	timers []*manualTimer
	set    chan time.Duration // gets each timer's time
}

type manualTimer struct {
	d    time.Duration
	f    func()
	done bool
}

func newManualClock() *manualClock { return &manualClock{set: make(chan time.Duration, 1000)} }

func (c *manualClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &manualTimer{d: d, f: f}
	c.timers = append(c.timers, t)
	c.set <- d
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		was := !t.done
		t.done = true
		return was
	}
}

// fire ends the time of the timer that was set last and is not stopped. It reports whether there is
// one.
func (c *manualClock) fire() bool {
	c.mu.Lock()
	var f func()
	for _, t := range slices.Backward(c.timers) {
		if !t.done {
			t.done = true
			f = t.f
			break
		}
	}
	c.mu.Unlock()
	if f != nil {
		f()
	}
	return f != nil
}

func TestBackoff(t *testing.T) {
	b := backoff{first: 100 * time.Millisecond, random: func() float64 { return 1 }}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for i, want := range []time.Duration{ms(100), ms(200), ms(400), ms(800), ms(1600), ms(3200), ms(6400), ms(12800), ms(25600), ms(30000), ms(30000)} {
		if got := b.next(); got != want {
			t.Errorf("failure %d: got %v, want %v", i+1, got, want)
		}
	}
	for range 100 {
		if got := b.next(); got != 30*time.Second {
			t.Fatalf("after %d failures: got %v, want 30s", b.failures, got)
		}
	}
	b.failures = 0
	if got := b.next(); got != ms(100) {
		t.Errorf("after a reset: got %v, want 100ms", got)
	}
	b.failures = 0
	b.random = func() float64 { return 0.25 }
	if got := b.next(); got != ms(25) {
		t.Errorf("jitter of 0.25: got %v, want 25ms", got)
	}
}
