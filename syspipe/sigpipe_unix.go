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

// awaitSignals returns when Go has handed on every SIGPIPE that came before the call. It sends a
// SIGWINCH and waits until that arrives. Go hands pending signals on in the order of their numbers,
// so the SIGWINCH arrives after every earlier SIGPIPE.
//
// A SIGWINCH may also come because a terminal was resized. One may be in the channel already, and
// one may be on its way there. So awaitSignals sends three. The third SIGWINCH that it receives is
// surely one that it has sent.
func awaitSignals(marks <-chan os.Signal) {
	for range 3 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
			return
		}
		<-marks
	}
}
