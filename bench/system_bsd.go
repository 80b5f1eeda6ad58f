//go:build darwin || freebsd

package bench

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// rusageThread is RUSAGE_THREAD of FreeBSD's <sys/resource.h>, which x/sys does not name.
const rusageThread = 1

// readCPUTime reads the processor time of this thread or of this process; macOS tells no thread's.
func readCPUTime(ofProcess bool) cpuTime {
	switch {
	case ofProcess:
		return rusage(unix.RUSAGE_SELF)
	case runtime.GOOS == "freebsd":
		return rusage(rusageThread)
	}
	return unknownTime
}

// peakMemory returns the largest resident size of this process so far, in bytes.
func peakMemory() (bytesHeld int64, ok bool) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0, false
	}
	if runtime.GOOS == "darwin" {
		return r.Maxrss, true
	}
	return r.Maxrss << 10, true // KiB
}
