package client

import (
	"io"
	"time"
)

// A Launcher starts servers.
type Launcher interface {
	Launch() (*Process, error)
}

// A Process is a server that runs.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser
	Stderr io.ReadCloser // nil: there is none

	// Grace is how long it is given to end after each of: its stdin was closed, Terminate, Kill.
	Grace     time.Duration
	Terminate func()          // asks it to end
	Kill      func()          // makes it end
	Done      <-chan struct{} // closed when it has ended
	ExitCode  func() int      // once it has: the code, or 128 + the signal
}

// stop ends a process whose stdin has been closed, step by step. It reports whether force was needed.
func (p *Process) stop() (forced bool) {
	for _, harder := range []func(){p.Terminate, p.Kill, func() {}} {
		timer := time.NewTimer(p.Grace)
		select {
		case <-p.Done:
			timer.Stop()
			return forced
		case <-timer.C:
			harder()
			forced = true
		}
	}
	return forced
}
