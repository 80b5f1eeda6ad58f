package bench

import "golang.org/x/sys/unix"

// rusageThread is RUSAGE_THREAD of <sys/resource.h>, which x/sys does not name.
const rusageThread = 1

// readCPUTime reads the processor time of this thread or of this process.
func readCPUTime(of pinning) cpuTime {
	if of == pinThread {
		return rusage(rusageThread)
	}
	return rusage(unix.RUSAGE_SELF)
}

// peakMemory is the largest resident size of this process so far, in bytes.
func peakMemory() (bytesHeld int64, ok bool) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0, false
	}
	return r.Maxrss << 10, true
}
