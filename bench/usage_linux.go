package bench

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/bench/machine"
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
func peakMemory() (bytesHeld int64, ok bool) { return machine.PeakMemory(os.Getpid()) }
