package child

import (
	"sync"
	"time"
)

// A Watchdog calls late once a wait has lasted too long, unless it is stopped first. Whenever the
// time is over it asks more for how long the wait may go on; 0 is no longer.
type Watchdog struct {
	more func() time.Duration
	late func()

	mu      sync.Mutex // held while late runs, so that Stop returns behind it
	timer   *time.Timer
	stopped bool
}

// Watch begins a watch.
func Watch(limit time.Duration, more func() time.Duration, late func()) *Watchdog {
	w := &Watchdog{more: more, late: late}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(limit, w.look)
	return w
}

// look is called when the limit is over. What it asks takes time, in which the wait may have ended:
// then neither is late called nor the timer set again.
func (w *Watchdog) look() {
	more := w.more()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	if more > 0 {
		w.timer.Reset(more)
		return
	}
	w.late()
}

// Stop ends the watch. When it has returned, late has been called, or never will be.
func (w *Watchdog) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.timer.Stop()
}
