package machine

import (
	"fmt"
	"math"
	"time"

	"github.com/pipebench/pipebench/syspipe/proc"
)

// A Usage is what all CPUs together did in some time, in seconds of one CPU.
type Usage struct {
	Known     bool    // the system tells; else all figures are 0
	Busy      float64 // ran something
	Own       float64 // of that, this process and the children that it has waited for
	Stolen    float64 // were taken by the hypervisor while something wanted to run
	Throttled float64 // stood still because of a quota while something wanted to run
	Elapsed   float64 // by the clock
	CPUs      int

	quotas   bool            // the system tells of throttling
	stolenOf map[int]float64 // Stolen by CPU, if the system tells
	at       time.Time
}

// ReadUsage returns what the CPUs did since the machine was started; its Elapsed is 0, and only a
// difference made by [Usage.Since] has one.
func ReadUsage() Usage {
	u := systemUsage()
	u.at = time.Now()
	self, _ := proc.OwnCPU() // 0 if it is not known
	children, _ := proc.ChildrenCPU()
	u.Own = (self + children).Seconds()
	return u
}

// Since returns what was done between two readings, unknown unless both are known.
func (u Usage) Since(from Usage) Usage {
	if !u.Known || !from.Known {
		return Usage{}
	}
	stolenOf := map[int]float64{}
	for cpu, stolen := range u.stolenOf {
		stolenOf[cpu] = stolen - from.stolenOf[cpu]
	}
	return Usage{
		Known: true, CPUs: u.CPUs, quotas: u.quotas, stolenOf: stolenOf,
		Busy: u.Busy - from.Busy, Own: u.Own - from.Own, Stolen: u.Stolen - from.Stolen,
		Throttled: u.Throttled - from.Throttled, Elapsed: u.at.Sub(from.at).Seconds(),
	}
}

// StolenFrom returns how much time the hypervisor took from two CPUs, or from one given twice;
// known is false if the system does not tell.
func (u Usage) StolenFrom(a, b int) (stolen time.Duration, known bool) {
	seconds, known := u.stolenOf[a]
	if a != b {
		seconds += u.stolenOf[b]
	}
	return time.Duration(seconds * 1e9).Round(time.Millisecond), known
}

// Thresholds above which a disturbance is reported.
const (
	busyCPUs    = 0.1  // CPUs that others keep busy: it moves a figure by more than a percent
	stolenShare = 0.01 // of the time in which something ran
	minElapsed  = 0.5  // seconds: in less, the hundredths in which systems count are too coarse
)

// Faults returns what disturbed measurements in that time: others used the CPUs, the hypervisor
// gave the CPUs to others, or a quota stopped this process.
func (u Usage) Faults() []Fault {
	var list []Fault
	others := (u.Busy - u.Own) / u.Elapsed
	if u.Known && u.Elapsed >= minElapsed && others > busyCPUs {
		list = append(list, Fault{
			ID: "load",
			Found: fmt.Sprintf("other programs kept about %.1f of %d CPUs busy",
				others, u.CPUs),
			Advice: "close them",
		})
	}
	if u.Known && u.Stolen > stolenShare*(u.Busy+u.Stolen) {
		percent := math.Ceil(100 * u.Stolen / (u.Busy + u.Stolen))
		list = append(list, Fault{
			ID:     "steal",
			Found:  fmt.Sprintf("the hypervisor took about %.0f %% of the CPU time", percent),
			Advice: "try another host or hour, or use pipebench compare: both sides lose alike",
		})
	}
	if u.quotas && u.Throttled > 0 {
		list = append(list, Fault{
			ID: "throttled",
			Found: fmt.Sprintf("a CPU quota stopped what was measured for about %.1f s",
				u.Throttled),
			Advice: "raise the container's CPU quota, or bind it to whole CPUs instead",
		})
	}
	return list
}
