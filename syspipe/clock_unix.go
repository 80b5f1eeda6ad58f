//go:build linux || darwin || freebsd

package syspipe

import "time"

var started = time.Now()

// Now returns the time since a moment that is the same for all of the process, by the finest clock
// of the system that never goes back. It costs no system call.
func Now() time.Duration { return time.Since(started) }
