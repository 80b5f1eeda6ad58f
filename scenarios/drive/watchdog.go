package drive

import (
	"sync"
	"time"
)

// A watchdog calls late once a wait has lasted too long, unless it is stopped first. Whenever limit
// is over it asks granted whether the wait may go on for as long again.
type watchdog struct {
	limit   time.Duration
	granted func() bool
	late    func()

	mu      sync.Mutex // held while late runs, so that stop returns behind it
	timer   *time.Timer
	stopped bool
}

func watch(limit time.Duration, granted func() bool, late func()) *watchdog {
	w := &watchdog{limit: limit, granted: granted, late: late}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(limit, w.look)
	return w
}

// look is called when the limit is over. What it asks takes time, in which the wait may have ended:
// then neither is late called nor the timer set again.
func (w *watchdog) look() {
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

// stop ends the watch. When it has returned, late has been called, or never will be.
func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.timer.Stop()
}
