//go:build linux || darwin || freebsd

package bench

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func readCPUTime() cpuTime {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return unknownTime
	}
	cpu := r.Utime.Nano() + r.Stime.Nano()
	return cpuTime{cpu: cpu, voluntary: int64(r.Nvcsw), involuntary: int64(r.Nivcsw), queued: -1}
}

// readSharedClock reads a clock that is the same for all processes of the machine.
func readSharedClock() (int64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, fmt.Errorf("read the monotonic clock: %w", err)
	}
	return t.Nano(), nil
}
