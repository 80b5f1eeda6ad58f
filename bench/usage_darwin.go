package bench

import "golang.org/x/sys/unix"

// readCPUTime reads the processor time of this process; macOS tells no
// thread's.
func readCPUTime(of pinning) cpuTime {
	if of == pinThread {
		return cpuTime{}
	}
	return rusage(unix.RUSAGE_SELF)
}

// peakMemory is the largest resident size of this process so far, in bytes.
func peakMemory() (bytesHeld int64, ok bool) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0, false
	}
	return r.Maxrss, true // in bytes here, elsewhere in KiB
}
