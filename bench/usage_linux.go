package bench

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// readCPUTime reads the processor time of this thread or of this process.
func readCPUTime(of pinning) cpuTime {
	who := unix.RUSAGE_SELF
	if of == pinThread {
		who = unix.RUSAGE_THREAD
	}
	return rusage(who)
}

// peakMemory is the largest resident size of this process so far, in bytes.
// getrusage would give that of the process that forked it where it was larger.
func peakMemory() (bytesHeld int64, ok bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0, false
	}
	kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return kib << 10, err == nil
}
