//go:build linux || darwin || freebsd

package syspipe

import (
	"os"
	"os/signal"
	"syscall"
)

// CountSIGPIPE begins to count the SIGPIPEs that this process gets. The function that it returns
// tells how many came since its last call; nil if the system has no such signal. Several that came
// at the same time count as one, because the system delivers one. One goroutine may call it.
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

// awaitSignals returns when Go has handed on every signal that came before the call. Go hands
// pending signals on in the order of their numbers, so a SIGWINCH that is sent now, as a mark,
// arrives after every earlier SIGPIPE. A SIGWINCH of somebody else (a terminal was resized) may be
// taken for the mark: one may lie in the channel, and Go may be handing on another. So only the
// third one received is surely ours.
func awaitSignals(marks <-chan os.Signal) {
	for range 3 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
			return
		}
		<-marks
	}
}
