package machine

import (
	"fmt"
	"math"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A Usage is what all CPUs together did in some time, in seconds of one CPU.
type Usage struct {
	Known     bool    // the system tells; else all is 0
	Busy      float64 // ran something
	Own       float64 // of that, this process and the children that it has waited for
	Stolen    float64 // were taken by the hypervisor while something wanted to run
	Throttled float64 // stood still by a quota while something wanted to run
	Elapsed   float64 // of the clock
	CPUs      int

	quotas bool // the system tells of throttling
	at     time.Time
}

// ReadUsage is what the CPUs did since the machine was started; its Elapsed is 0
// until it is held against an earlier one with [Usage.Since].
func ReadUsage() Usage {
	u := systemUsage()
	u.at, u.Own = time.Now(), own()
	return u
}

// Since is what was done between two readings, unknown unless both are known.
func (u Usage) Since(from Usage) Usage {
	if !u.Known || !from.Known {
		return Usage{}
	}
	return Usage{
		Known: true, CPUs: u.CPUs, quotas: u.quotas,
		Busy: u.Busy - from.Busy, Own: u.Own - from.Own, Stolen: u.Stolen - from.Stolen,
		Throttled: u.Throttled - from.Throttled, Elapsed: u.at.Sub(from.at).Seconds(),
	}
}

// Add puts what was done in two times together. An unknown one adds nothing.
func (u *Usage) Add(d Usage) {
	if !d.Known {
		return
	}
	u.Known, u.CPUs, u.quotas = true, d.CPUs, d.quotas
	u.Busy += d.Busy
	u.Own += d.Own
	u.Stolen += d.Stolen
	u.Throttled += d.Throttled
	u.Elapsed += d.Elapsed
}

// What is at fault from where on.
const (
	busyCPUs    = 0.1  // CPUs that others keep busy: a tenth of one moves a figure by more than a percent
	stolenShare = 0.01 // of the time in which something ran
	shortLook   = 0.5  // seconds below which others' use of the CPUs does not show: systems count it in hundredths
)

// Shows reports whether the time was long enough to see others in it.
func (u Usage) Shows() bool { return u.Known && u.Elapsed >= shortLook }

// Load is the fault that others used the CPUs.
func (u Usage) Load() (results.Fault, bool) {
	if !u.Shows() {
		return results.Fault{}, false
	}
	others := (u.Busy - u.Own) / u.Elapsed
	return results.Fault{ID: "load", Verdict: fmt.Sprintf("others kept about %.1f of %d CPUs busy", others, u.CPUs),
		Evidence: results.MustEvidence(map[string]any{"busy_cpus": round(others), "watched_s": round(u.Elapsed)}), Advice: "stop what else runs, or compare with ab, whose pairs suffer alike"}, others > busyCPUs
}

// Steal is the fault that the hypervisor gave the CPUs to others.
func (u Usage) Steal() (results.Fault, bool) {
	if !u.Known || u.Stolen <= stolenShare*(u.Busy+u.Stolen) {
		return results.Fault{}, false
	}
	share := u.Stolen / (u.Busy + u.Stolen)
	return results.Fault{ID: "steal", Verdict: fmt.Sprintf("the hypervisor took about %.0f %% of the CPU time", math.Ceil(100*share)),
		Evidence: results.MustEvidence(map[string]any{"stolen_s": round(u.Stolen), "busy_s": round(u.Busy)}), Advice: "another host or hour; no verdict but in pairs (ab)"}, true
}

// Throttling is the fault that a quota stopped the CPUs.
func (u Usage) Throttling() (results.Fault, bool) {
	return results.Fault{ID: "throttled", Verdict: fmt.Sprintf("a CPU quota stopped what was measured for about %.1f s", u.Throttled),
		Evidence: results.MustEvidence(map[string]any{"throttled_s": round(u.Throttled)}), Advice: "raise the container's CPU quota, or bind it to whole CPUs instead"}, u.quotas && u.Throttled > 0
}

// Faults are all that disturbed what ran in that time.
func (u Usage) Faults() []results.Fault {
	var out []results.Fault
	for _, look := range []func() (results.Fault, bool){u.Load, u.Steal, u.Throttling} {
		if f, found := look(); found {
			out = append(out, f)
		}
	}
	return out
}
