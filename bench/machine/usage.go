package machine

import (
	"fmt"
	"math"
	"time"

	"github.com/pipebench/pipebench/syspipe/proc"
)

// A Usage says how all CPUs together spent an interval, in CPU seconds.
type Usage struct {
	Known     bool    // if false, the system does not tell, and the rest is meaningless
	Busy      float64 // the CPUs ran something
	Own       float64 // the part of Busy for this process and the children that it has waited for
	Stolen    float64 // the hypervisor had taken CPUs while something wanted to run
	Throttled float64 // a CPU quota kept processes from running
	Elapsed   float64 // the length of the interval, in seconds
	CPUs      int

	stolenByCPU map[int]float64 // Stolen of each CPU by its number, if the system tells
	at          time.Time       // the end of the interval
}

// ReadUsage returns the usage since the machine was started. For an interval, call [Usage.Since],
// which also sets Elapsed.
func ReadUsage() Usage {
	u := systemUsage()
	u.at = time.Now()
	self, _ := proc.OwnCPU()          // 0 if it is not known
	children, _ := proc.ChildrenCPU() // 0 if it is not known
	u.Own = (self + children).Seconds()
	return u
}

// Since returns the usage between two readings, of which u is the later one. The result is known
// only if both readings are known.
func (u Usage) Since(earlier Usage) Usage {
	if !u.Known || !earlier.Known {
		return Usage{}
	}
	stolenByCPU := map[int]float64{}
	for cpu, stolen := range u.stolenByCPU {
		stolenByCPU[cpu] = stolen - earlier.stolenByCPU[cpu]
	}
	return Usage{
		Known: true, CPUs: u.CPUs, stolenByCPU: stolenByCPU,
		Busy: u.Busy - earlier.Busy, Own: u.Own - earlier.Own, Stolen: u.Stolen - earlier.Stolen,
		Throttled: u.Throttled - earlier.Throttled, Elapsed: u.at.Sub(earlier.at).Seconds(),
	}
}

// StolenFrom returns how much time the hypervisor took from the CPUs a and b, which may be the same
// CPU.
func (u Usage) StolenFrom(a, b int) (stolen time.Duration, known bool) {
	seconds, known := u.stolenByCPU[a]
	if a != b {
		more, bothKnown := u.stolenByCPU[b]
		seconds += more
		known = known && bothKnown
	}
	return time.Duration(seconds * 1e9).Round(time.Millisecond), known
}

// Limits above which a disturbance is reported.
const (
	busyCPUs    = 0.1  // CPUs that other programs use; using more changes a figure by over 1 %
	stolenShare = 0.01 // of the time in which something ran or wanted to run
	minElapsed  = 0.5  // seconds; systems count in steps of 0.01, too coarse for less time
)

// Faults returns what disturbed measurements in the interval: other programs, the hypervisor, or a
// CPU quota.
func (u Usage) Faults() []Fault {
	if !u.Known {
		return nil
	}
	var list []Fault
	others := (u.Busy - u.Own) / u.Elapsed // CPUs, on average
	if u.Elapsed >= minElapsed && others > busyCPUs {
		list = append(list, Fault{
			ID: "load",
			Found: fmt.Sprintf("other programs kept about %.1f of %d CPUs busy",
				others, u.CPUs),
			Advice: "close them",
		})
	}
	if wanted := u.Busy + u.Stolen; u.Stolen > stolenShare*wanted {
		percent := math.Ceil(100 * u.Stolen / wanted)
		list = append(list, Fault{
			ID:     "steal",
			Found:  fmt.Sprintf("the hypervisor took about %.0f %% of the CPU time", percent),
			Advice: "try another host or hour, or use pipebench compare: both sides lose alike",
		})
	}
	if u.Throttled > 0 {
		list = append(list, Fault{
			ID: "throttled",
			Found: fmt.Sprintf("a CPU quota stopped what was measured for about %.1f s",
				u.Throttled),
			Advice: "raise the container's CPU quota, or bind it to whole CPUs instead",
		})
	}
	return list
}
