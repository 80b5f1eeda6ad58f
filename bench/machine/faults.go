package machine

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
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
			"its neighbours cannot be seen from here: compare with ab, in one job"))
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
	w, r, err := syspipe.Open(syspipe.Anonymous, 0)
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
