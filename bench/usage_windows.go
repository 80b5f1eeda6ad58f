package bench

import (
	"time"

	"golang.org/x/sys/windows"
)

// readCPUTime reads the processor time of this process; x/sys has no call for
// a thread's. Windows does not count switches.
func readCPUTime(of pinning) cpuTime {
	var created, exited, kernel, user windows.Filetime
	if of == pinThread {
		return cpuTime{}
	}
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user); err != nil {
		return cpuTime{}
	}
	return cpuTime{known: true, cpu: ticks(kernel) + ticks(user)}
}

// ticks turns a count of 100 ns into a duration. Filetime's own conversion
// takes it for a date.
func ticks(t windows.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}

// peakMemory is not told by x/sys here.
func peakMemory() (bytesHeld int64, ok bool) { return 0, false }
