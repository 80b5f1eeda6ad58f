//go:build linux || darwin || freebsd

package syspipe

import (
	"os"
	"os/signal"
	"syscall"
)

// CountSIGPIPE begins to count the SIGPIPEs that this process gets. The function that it returns
// tells how many came since its last call, those that came at the same time as one, as the system
// has it; nil where there is no such signal. One goroutine may call it.
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
// pending signals on in the order of their numbers, so that a mark sent now, SIGWINCH, comes after
// each SIGPIPE from before. A SIGWINCH of somebody else (a terminal was resized) may be taken for
// the mark: one may lie in the channel, and Go may be handing another one on. So the third is ours.
func awaitSignals(marks <-chan os.Signal) {
	for range 3 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
			return
		}
		<-marks
	}
}
