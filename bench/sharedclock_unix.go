//go:build linux || darwin || freebsd

package bench

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func readSharedClock() (int64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, fmt.Errorf("read the monotonic clock: %w", err)
	}
	return t.Nano(), nil
}
