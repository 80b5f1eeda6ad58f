package machine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Thresholds above which the clock is at fault.
const (
	slowClock   = 1000 // ns a reading: a clock without a system call takes some 25, one in an old timer chip more than this
	coarseClock = 1000 // ns a step
)

// An evidence is what a fault of the machine rests on, each with the fields of its kind.
type evidence struct {
	Virtualisation string  `json:"virtualisation,omitempty"`
	Imitation      string  `json:"imitation,omitempty"`
	Topology       string  `json:"topology,omitempty"`
	CPUs           float64 `json:"cpus,omitempty"`
	Governor       string  `json:"governor,omitempty"`
	ClockNS        float64 `json:"clock_ns,omitempty"`
	ClockStepNS    int64   `json:"clock_step_ns,omitempty"`
	Capacity       int     `json:"capacity,omitempty"`      // bytes of a new pipe
	PipeMaxSize    int64   `json:"pipe_max_size,omitempty"` // bytes
	Source         string  `json:"source,omitempty"`        // of the clock
	Available      any     `json:"available,omitempty"`     // clock sources, by name; or bytes of memory
}

func fault(id, verdict string, e evidence, advice string) results.Fault {
	return results.Fault{ID: id, Verdict: verdict, Evidence: results.MustEvidence(e), Advice: advice}
}

// Faults returns what about the machine itself disturbs measurements, each with the remedy. None is
// a fine machine, or one that does not tell: [Checks] says what was looked at. Who else uses it is
// [Usage]'s to say.
func Faults(env results.Environment) []results.Fault {
	var out []results.Fault
	if env.Virtualisation != "" {
		out = append(out, fault("virtual", env.Virtualisation, evidence{Virtualisation: env.Virtualisation},
			"its neighbours cannot be seen from here: compare two builds in one job"))
	}
	if env.Imitation != "" {
		out = append(out, fault("imitation", env.Imitation, evidence{Imitation: env.Imitation},
			"what pipes do can be compared with other systems, how fast they are cannot"))
	}
	out = append(out, processors(env)...)
	if env.ClockNS > slowClock || env.ClockStepNS > coarseClock {
		verdict := fmt.Sprintf("a reading takes %s, the smallest step is %s", results.FormatDuration(env.ClockNS), results.FormatDuration(float64(env.ClockStepNS)))
		out = append(out, fault("clock", verdict, evidence{ClockNS: round(env.ClockNS), ClockStepNS: env.ClockStepNS},
			"look at the system's clock source; latencies near these figures mean nothing"))
	}
	return slices.Concat(out, pipes(), systemFaults(env))
}

// Checks names what Faults looks at on this system.
func Checks() []string {
	return append([]string{"virtual machine", "imitation", "CPUs", "clock", "pipe capacity"}, systemChecks...)
}

// affectsAll names the faults that touch every figure of a run: a frequency that changes while it
// goes on, a processor or system that is none, and a clock that is not fit to time it.
var affectsAll = []string{"governor", "turbo", "battery", "power", "translation", "imitation", "clock", "clock-source"}

// Disturbing returns those of the faults that a run has to be read with, whatever it measured. The
// others are doctor's to tell.
func Disturbing(env results.Environment) []results.Fault {
	return slices.DeleteFunc(Faults(env), func(f results.Fault) bool { return !slices.Contains(affectsAll, f.ID) })
}

func processors(env results.Environment) []results.Fault {
	topology, err := placement.Read()
	if err != nil || len(topology.CPUs) == 0 {
		return []results.Fault{fault("placement", "pipebench chooses no CPUs on "+env.OS, evidence{},
			"the scheduler's choice decides figures here, and times never gate: rely on exact counters")}
	}
	var out []results.Fault
	if _, err := topology.Choose("apart"); errors.Is(err, errors.ErrUnsupported) {
		out = append(out, fault("cpus", "no two cores for the two ends", evidence{Topology: topology.String()},
			"allow this process two cores (taskset, cpuset, a larger machine); placement same works"))
	} else if n := len(topology.CPUs); n < 3 {
		out = append(out, fault("cpus", fmt.Sprintf("%d CPUs: none is left when both ends run", n), evidence{CPUs: float64(n)},
			"whatever else runs, runs on an end's CPU; trust placement same more than apart, and load generators no spare CPU"))
	}
	if env.Governor != "" && env.Governor != "performance" {
		out = append(out, fault("governor", env.Governor+": the CPU's frequency follows its load", evidence{Governor: env.Governor},
			"sudo cpupower frequency-set -g performance"))
	}
	return out
}

// pipes opens a pipe, to see whether it has the capacity that pipes have.
func pipes() []results.Fault {
	w, r, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{IO: syspipe.Blocking})
	if err != nil {
		return []results.Fault{fault("pipes", err.Error(), evidence{}, "close what holds descriptors, or raise the limit (ulimit -n)")}
	}
	defer r.Close()
	defer w.Close()
	capacity, err := w.Capacity()
	if err != nil || capacity <= 0 || capacity >= usualPipe {
		return nil
	}
	return []results.Fault{fault("pipes", "new pipes hold "+results.FormatSize(int64(capacity))+" instead of "+results.FormatSize(int64(usualPipe)),
		evidence{Capacity: capacity}, smallPipeAdvice)}
}

// round leaves three digits behind the point, for people to read.
func round(v float64) float64 { return math.Round(v*1000) / 1000 }

// A Usage is what all CPUs together did in some time, in seconds of one CPU.
type Usage struct {
	Known     bool    // the system tells; else all is 0
	Busy      float64 // ran something
	Own       float64 // of that, this process and the children that it has waited for
	Stolen    float64 // were taken by the hypervisor while something wanted to run
	Throttled float64 // stood still by a quota while something wanted to run
	Elapsed   float64 // of the clock
	CPUs      int

	quotas   bool            // the system tells of throttling
	stolenOf map[int]float64 // Stolen by CPU, where the system tells
	at       time.Time
}

// ReadUsage returns what the CPUs did since the machine was started; its Elapsed is 0 until it is
// held against an earlier one with [Usage.Since].
func ReadUsage() Usage {
	u := systemUsage()
	u.at = time.Now()
	self, _ := proc.OwnCPU() // 0 where it is not known
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

// StolenFrom returns how much time the hypervisor took from two CPUs, or from one given twice; false
// where the system does not tell.
func (u Usage) StolenFrom(a, b int) (stolen time.Duration, known bool) {
	seconds, known := u.stolenOf[a]
	if a != b {
		seconds += u.stolenOf[b]
	}
	return time.Duration(seconds * 1e9).Round(time.Millisecond), known
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

// Thresholds above which a disturbance is reported.
const (
	busyCPUs    = 0.1  // CPUs that others keep busy: a tenth of one moves a figure by more than a percent
	stolenShare = 0.01 // of the time in which something ran
	shortLook   = 0.5  // seconds below which others' use of the CPUs does not show: systems count it in hundredths
)

// Shows reports whether the time was long enough to see others in it.
func (u Usage) Shows() bool { return u.Known && u.Elapsed >= shortLook }

// A figures is what a fault of a [Usage] rests on, by names that end in their unit.
type figures map[string]float64

// Faults returns what disturbed that which ran in that time: others that used the CPUs, the
// hypervisor that gave the CPUs to others, a quota that stopped them.
func (u Usage) Faults() []results.Fault {
	var out []results.Fault
	if others := (u.Busy - u.Own) / u.Elapsed; u.Shows() && others > busyCPUs {
		out = append(out, results.Fault{ID: "load", Verdict: fmt.Sprintf("others kept about %.1f of %d CPUs busy", others, u.CPUs),
			Evidence: results.MustEvidence(figures{"busy_cpus": round(others), "watched_s": round(u.Elapsed)}), Advice: "close other programs, or compare two builds in turns: both suffer alike"})
	}
	if u.Known && u.Stolen > stolenShare*(u.Busy+u.Stolen) {
		percent := math.Ceil(100 * u.Stolen / (u.Busy + u.Stolen))
		out = append(out, results.Fault{ID: "steal", Verdict: fmt.Sprintf("the hypervisor took about %.0f %% of the CPU time", percent),
			Evidence: results.MustEvidence(figures{"stolen_s": round(u.Stolen), "busy_s": round(u.Busy)}), Advice: "another host or hour; no verdict but in pairs (ab)"})
	}
	if u.quotas && u.Throttled > 0 {
		out = append(out, results.Fault{ID: "throttled", Verdict: fmt.Sprintf("a CPU quota stopped what was measured for about %.1f s", u.Throttled),
			Evidence: results.MustEvidence(figures{"throttled_s": round(u.Throttled)}), Advice: "raise the container's CPU quota, or bind it to whole CPUs instead"})
	}
	return out
}
