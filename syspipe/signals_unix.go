//go:build unix

package syspipe

import (
	"os"
	"os/signal"
	"syscall"
)

// CountSIGPIPE begins to count the SIGPIPEs that this process gets. The function that it returns
// tells how many came since its last call, those that came at the same time as one, as the system
// has it; nil where there is no such signal. One goroutine may call it.
//
// It waits until every signal sent so far was delivered: Go hands pending signals on in the order of
// their numbers, and the mark that it sends itself, SIGWINCH, has a higher one.
func CountSIGPIPE() func() *int {
	pipes, marks := make(chan os.Signal, 16), make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	signal.Notify(marks, syscall.SIGWINCH)
	return func() *int {
		if syscall.Kill(os.Getpid(), syscall.SIGWINCH) == nil {
			<-marks
		}
		n := len(pipes)
		for range n {
			<-pipes
		}
		return &n
	}
}
