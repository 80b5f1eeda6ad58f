//go:build unix

package tap

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// forwardedSignals are the signals that a client, a terminal or a supervisor sends to a server.
var forwardedSignals = []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGCONT}

func signalOf(state *os.ProcessState) (number int, name string, ok bool) {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return 0, "", false
	}
	return int(status.Signal()), unix.SignalName(status.Signal()), true
}

// dieBySignal ends this process by a signal. There is a core file of the server already, if one is wanted.
func dieBySignal(number int) {
	s := syscall.Signal(number)
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	signal.Reset(s)
	resetHandler(number)
	unix.Kill(unix.Getpid(), s)
	time.Sleep(time.Second) // it comes in its own time; should it not come at all, the exit status has to tell
}
