//go:build linux || darwin || freebsd

package syspipe

import (
	"os"
	"os/signal"
	"syscall"
)

// CountSIGPIPE begins to count the SIGPIPE signals that this process gets. The returned function
// returns how many came since it was last called, or nil if the system has no such signal. Only one
// goroutine may call that function. Signals at the same time count as one.
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

// awaitSignals returns when Go has handed on every SIGPIPE that came before the call. It sends
// SIGWINCH and waits for that: Go hands signals on in the order of their numbers, and SIGWINCH has
// a larger number than SIGPIPE.
func awaitSignals(marks <-chan os.Signal) {
	// Two SIGWINCH may come from a resized terminal. The third is surely one of ours.
	for range 3 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
			return
		}
		<-marks
	}
}
