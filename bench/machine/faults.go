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

// What is at fault from where on.
const (
	slowClock   = 1000 // ns a reading: a clock without a system call takes some 25, one in an old timer chip more than this
	coarseClock = 1000 // ns a step
)

// Faults are what about the machine itself disturbs measurements, each with the
// remedy. None is a fine machine, or one that does not tell: [Looked] says at
// what was looked. Who else uses it is [Usage]'s to say.
func Faults(env results.Environment) []results.Fault {
	var out []results.Fault
	if env.Virtualisation != "" {
		out = append(out, results.Fault{ID: "virtual", Verdict: env.Virtualisation,
			Evidence: results.MustEvidence(map[string]any{"virtualisation": env.Virtualisation}), Advice: "its neighbours cannot be seen from here: compare with ab, in one job"})
	}
	return slices.Concat(out, processors(env), coarse(env), pipes(), systemFaults())
}

// Checks is at what Faults looks on this system.
func Checks() []string {
	return append([]string{"virtual machine", "CPUs", "clock", "pipe capacity"}, systemChecks...)
}

// affectsAll are the faults that touch every figure of a run: a frequency that
// changes while it goes on, and a clock that is not fit to time it.
var affectsAll = []string{"governor", "turbo", "battery", "power", "translation", "clock", "clock-source"}

// Disturbing are those of the faults that a run has to be read with, whatever it
// measured. The others are doctor's to tell.
func Disturbing(env results.Environment) []results.Fault {
	return slices.DeleteFunc(Faults(env), func(f results.Fault) bool { return !slices.Contains(affectsAll, f.ID) })
}

func processors(env results.Environment) []results.Fault {
	var out []results.Fault
	topology, err := placement.Read()
	if err != nil || len(topology.CPUs) == 0 {
		return []results.Fault{{ID: "placement", Verdict: "a program cannot choose its CPUs on " + env.OS,
			Advice: "the scheduler's choice decides figures here, and times never gate: rely on exact counters"}}
	}
	if _, err := topology.Choose("apart"); errors.Is(err, errors.ErrUnsupported) {
		out = append(out, results.Fault{ID: "cpus", Verdict: "no two cores for the two ends",
			Evidence: results.MustEvidence(map[string]any{"topology": topology.String()}), Advice: "allow this process two cores (taskset, cpuset, a larger machine); placement same works"})
	} else if len(topology.CPUs) < 3 {
		out = append(out, results.Fault{ID: "cpus", Verdict: fmt.Sprintf("%d CPUs: none is left when both ends run", len(topology.CPUs)),
			Evidence: results.MustEvidence(map[string]any{"cpus": len(topology.CPUs)}), Advice: "whatever else runs, runs on an end's CPU; trust placement same more than apart, and load generators no spare CPU"})
	}
	if env.Governor != "" && env.Governor != "performance" {
		out = append(out, results.Fault{ID: "governor", Verdict: env.Governor + ": the CPU's frequency follows its load",
			Evidence: results.MustEvidence(map[string]any{"governor": env.Governor}), Advice: "sudo cpupower frequency-set -g performance"})
	}
	return out
}

func coarse(env results.Environment) []results.Fault {
	if env.ClockNS <= slowClock && env.ClockStepNS <= coarseClock {
		return nil
	}
	return []results.Fault{{ID: "clock", Verdict: fmt.Sprintf("a reading takes %s, the smallest step is %s", results.FormatDuration(env.ClockNS), results.FormatDuration(float64(env.ClockStepNS))),
		Evidence: results.MustEvidence(map[string]any{"clock_ns": round(env.ClockNS), "clock_step_ns": env.ClockStepNS}), Advice: "look at the system's clock source; latencies near these figures mean nothing"}}
}

// pipes opens one, to see whether it has the capacity that pipes have.
func pipes() []results.Fault {
	w, r, err := syspipe.Open(syspipe.Anonymous, 0)
	if err != nil {
		return []results.Fault{{ID: "pipes", Verdict: err.Error(), Advice: "close what holds descriptors, or raise the limit (ulimit -n)"}}
	}
	defer r.Close()
	defer w.Close()
	capacity, err := w.Capacity()
	if err != nil || capacity <= 0 || capacity >= usualPipe {
		return nil
	}
	return []results.Fault{{ID: "pipes", Verdict: "new pipes hold " + results.FormatSize(int64(capacity)) + " instead of " + results.FormatSize(int64(usualPipe)),
		Evidence: results.MustEvidence(map[string]any{"capacity": capacity}), Advice: smallPipeAdvice}}
}

// round leaves three digits behind the point, for people to read.
func round(v float64) float64 { return math.Round(v*1000) / 1000 }
