//go:build linux || darwin || freebsd

package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

func rusage(who int) cpuTime {
	var r unix.Rusage
	if err := unix.Getrusage(who, &r); err != nil {
		return cpuTime{}
	}
	return cpuTime{
		known:         true,
		cpu:           time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		switchesKnown: true,
		voluntary:     int64(r.Nvcsw),
		involuntary:   int64(r.Nivcsw),
	}
}
