//go:build linux || darwin || freebsd

package syspipe

import (
	"os"
	"os/signal"
	"syscall"
)

// CountSIGPIPE begins to count the SIGPIPE signals that this process gets. The returned function
// tells how many came since its last call, or returns nil if the system has no such signal. Only
// one goroutine may call it. Several signals at the same time count as one, because the system
// delivers only one of them.
func CountSIGPIPE() func() *int {
	pipes := make(chan os.Signal, 16)
	marks := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	signal.Notify(marks, syscall.SIGWINCH)
	return func() *int {
		awaitSignals(marks)
		n := len(pipes)
		for range n {
			<-pipes
		}
		return &n
	}
}

// awaitSignals returns when Go has handed on every SIGPIPE that came before the call. Go hands
// pending signals on in the order of their numbers, so a SIGWINCH that is sent now, as a mark,
// arrives after every earlier SIGPIPE. But a received SIGWINCH may come from somebody else, because
// a terminal was resized: one may be in the channel already, and one may be on its way there. So
// awaitSignals sends three, and the third one that it receives is surely one that it has sent.
func awaitSignals(marks <-chan os.Signal) {
	for range 3 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
			return
		}
		<-marks
	}
}
