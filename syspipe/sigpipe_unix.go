//go:build linux || darwin || freebsd

package syspipe

import (
	"os"
	"os/signal"
	"syscall"
)

// CountSIGPIPE begins to count the SIGPIPEs that this process gets. It returns a function for one
// goroutine, which tells how many came since its last call, or nil if the system has no such
// signal. Several that came at the same time count as one, because the system delivers one.
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
// arrives after every earlier SIGPIPE. But a received SIGWINCH may be somebody else's (a terminal
// was resized): one that was in the channel already, or one that Go was just handing on. So three
// are sent, and the third one received is surely ours.
func awaitSignals(marks <-chan os.Signal) {
	for range 3 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
			return
		}
		<-marks
	}
}
