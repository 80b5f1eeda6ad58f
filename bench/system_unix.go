//go:build linux || darwin || freebsd

package bench

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// rusageThread is RUSAGE_THREAD of Linux and of FreeBSD, for which x/sys does not name it. macOS
// refuses it: there no thread's time is told.
const rusageThread = 1

// readCPUTime reads the processor time of this thread or of this process.
func readCPUTime(ofProcess bool) cpuTime {
	who := rusageThread
	if ofProcess {
		who = unix.RUSAGE_SELF
	}
	var r unix.Rusage
	if err := unix.Getrusage(who, &r); err != nil {
		return unknownTime
	}
	return cpuTime{r.Utime.Nano() + r.Stime.Nano(), int64(r.Nvcsw), int64(r.Nivcsw), -1}
}

func readSharedClock() (int64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, fmt.Errorf("read the monotonic clock: %w", err)
	}
	return t.Nano(), nil
}
