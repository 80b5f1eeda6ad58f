package child

import (
	"sync"
	"time"
)

// A Watchdog calls late once a wait has lasted too long, unless it is stopped first. Whenever limit
// is over it asks granted whether the wait may go on for as long again.
type Watchdog struct {
	limit   time.Duration
	granted func() bool
	late    func()

	mu      sync.Mutex // held while late runs, so that Stop returns behind it
	timer   *time.Timer
	stopped bool
}

// Watch begins a watch.
func Watch(limit time.Duration, granted func() bool, late func()) *Watchdog {
	w := &Watchdog{limit: limit, granted: granted, late: late}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(limit, w.look)
	return w
}

// look is called when the limit is over. What it asks takes time, in which the wait may have ended:
// then neither is late called nor the timer set again.
func (w *Watchdog) look() {
	goOn := w.granted()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	if goOn {
		w.timer.Reset(w.limit)
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
