package bench

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/pipebench/pipebench/syspipe/proc"
	"golang.org/x/sys/windows"
)

// readCPUTime reads the processor time of this process; x/sys has no call for a thread's. Windows
// does not count switches.
func readCPUTime(ofProcess bool) cpuTime {
	spent, known := proc.OwnCPU()
	if !ofProcess || !known {
		return unknownTime
	}
	return cpuTime{spent.Nanoseconds(), -1, -1, -1}
}

// x/sys does not name the performance counter, which is Windows' monotonic clock.
var (
	kernel32         = windows.NewLazySystemDLL("kernel32.dll")
	queryCounter     = kernel32.NewProc("QueryPerformanceCounter")
	queryCounterRate = kernel32.NewProc("QueryPerformanceFrequency")
)

func readSharedClock() (int64, error) {
	var count, rate int64
	for _, q := range []struct {
		proc *windows.LazyProc
		into *int64
	}{{queryCounter, &count}, {queryCounterRate, &rate}} {
		if ok, _, err := q.proc.Call(uintptr(unsafe.Pointer(q.into))); ok == 0 {
			return 0, fmt.Errorf("read the performance counter: %w", err)
		}
	}
	hi, lo := bits.Mul64(uint64(count), 1e9)
	ns, _ := bits.Div64(hi, lo, uint64(rate))
	return int64(ns), nil
}
