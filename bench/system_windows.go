package bench

import (
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// readCPUTime reads the processor time of this process. Windows does not count context switches.
func readCPUTime() cpuTime {
	spent, known := proc.OwnCPU()
	if !known {
		return unknownTime
	}
	return cpuTime{cpu: spent.Nanoseconds(), voluntary: -1, involuntary: -1, queued: -1}
}

// readSharedClock reads the performance counter, which all processes share.
func readSharedClock() (int64, error) { return int64(syspipe.Now()), nil }
