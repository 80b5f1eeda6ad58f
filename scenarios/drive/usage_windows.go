package drive

import (
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// runningCPU reads what another process has used.
func runningCPU(pid int) cpuTime {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return cpuTime{}
	}
	defer windows.CloseHandle(h)
	return times(h)
}

// runningPeak is not told by any call of x/sys here.
func runningPeak(int) (int64, bool) { return 0, false }

// runnable neither.
func runnable(int) bool { return false }

// peakOf neither.
func peakOf(*os.ProcessState) (int64, bool) { return 0, false }

// ownCPU is what this process has used so far.
func ownCPU() cpuTime { return times(windows.CurrentProcess()) }

func times(h windows.Handle) cpuTime {
	var created, ended, kernel, user windows.Filetime
	if windows.GetProcessTimes(h, &created, &ended, &kernel, &user) != nil {
		return cpuTime{}
	}
	return cpuTime{ticks(kernel) + ticks(user), true}
}

// ticks turns a count of 100 ns into a duration. Filetime's own conversion takes it for a date.
func ticks(t windows.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
