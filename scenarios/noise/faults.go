package noise

import (
	"errors"
	"fmt"
	"math"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// What is at fault from where on.
const (
	busyCPUs    = 0.1  // CPUs that others keep busy while this program waits: a tenth of one moves a figure by more than a percent
	oldLoad     = 0.5  // load average, where nothing better is known
	stolenShare = 0.01 // of the time in which something ran
	leastWait   = 0.5  // seconds in which others' use of the CPUs shows
	slowClock   = 1000 // ns a reading: a clock without a system call takes some 25, one in an old timer chip more than this
	coarseClock = 1000 // ns a step
)

// Faults are what about the machine disturbs measurements, each with the remedy.
// None is a fine machine, or one that does not tell; [Looked] says at what was
// looked.
func (w *Watch) Faults(env results.Environment) []results.Fault {
	var out []results.Fault
	out = append(out, w.company(env)...)
	out = append(out, processors(env)...)
	out = append(out, clock(env)...)
	out = append(out, pipes()...)
	out = append(out, systemFaults()...)
	for i := range out {
		out[i].ID = results.EnvironmentFault + out[i].ID
		out[i].Run, out[i].Time = env.Run, env.Time
	}
	return out
}

// Looked is at what Faults looks on this system.
func (w *Watch) Looked() []string {
	looked := []string{"other load"}
	if w.working.known {
		looked = append(looked, "steal")
	}
	return append(append(looked, "virtual machine", "CPUs", "clock", "pipe capacity"), systemLooked...)
}

// company is who else uses the CPUs.
func (w *Watch) company(env results.Environment) []results.Fault {
	var out []results.Fault
	if u := w.waiting; u.known && u.elapsed >= leastWait {
		if others := u.busy / u.elapsed; others > busyCPUs {
			out = append(out, results.Fault{ID: "load", Verdict: fmt.Sprintf("others keep %.2f of %d CPUs busy", others, u.cpus),
				Evidence: map[string]any{"busy_cpus": round(others), "watched_s": round(u.elapsed)}, Advice: "stop what else runs, or compare with ab, whose pairs suffer alike"})
		}
	} else if env.Load1 > oldLoad {
		out = append(out, results.Fault{ID: "load", Verdict: fmt.Sprintf("the load average was %.2f before anything was measured", env.Load1),
			Evidence: map[string]any{"load1": env.Load1}, Advice: "stop what else runs, or wait until it is done"})
	}
	if u := w.working; u.known && u.stolen > stolenShare*(u.busy+u.stolen) {
		share := u.stolen / (u.busy + u.stolen)
		out = append(out, results.Fault{ID: "steal", Verdict: "the hypervisor took " + results.FormatPercent(100*share) + " of the CPU time",
			Evidence: map[string]any{"stolen_s": round(u.stolen), "busy_s": round(u.busy)}, Advice: "another host or hour; no verdict but in pairs (ab)"})
	}
	if u := w.working; u.throttleSeen && u.throttled > 0 {
		out = append(out, results.Fault{ID: "throttled", Verdict: "a CPU quota stopped the invocations for " + results.FormatDuration(u.throttled*1e9),
			Evidence: map[string]any{"throttled_s": round(u.throttled)}, Advice: "raise the container's CPU quota, or bind it to whole CPUs instead"})
	}
	if env.Virtualisation != "" {
		out = append(out, results.Fault{ID: "virtual", Verdict: env.Virtualisation,
			Evidence: map[string]any{"virtualisation": env.Virtualisation}, Advice: "its neighbours cannot be seen from here: compare with ab, in one job"})
	}
	return out
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
			Evidence: map[string]any{"topology": topology.String()}, Advice: "allow this process two cores (taskset, cpuset, a larger machine); placement same works"})
	} else if len(topology.CPUs) < 3 {
		out = append(out, results.Fault{ID: "cpus", Verdict: fmt.Sprintf("%d CPUs: none is left when both ends run", len(topology.CPUs)),
			Evidence: map[string]any{"cpus": len(topology.CPUs)}, Advice: "whatever else runs, runs on an end's CPU; trust placement same more than apart, and load generators no spare CPU"})
	}
	if env.Governor != "" && env.Governor != "performance" {
		out = append(out, results.Fault{ID: "governor", Verdict: env.Governor + ": the CPU's frequency follows its load",
			Evidence: map[string]any{"governor": env.Governor}, Advice: "sudo cpupower frequency-set -g performance"})
	}
	return out
}

func clock(env results.Environment) []results.Fault {
	if env.ClockNS <= slowClock && env.ClockStepNS <= coarseClock {
		return nil
	}
	return []results.Fault{{ID: "clock", Verdict: fmt.Sprintf("a reading takes %s, the smallest step is %s", results.FormatDuration(env.ClockNS), results.FormatDuration(float64(env.ClockStepNS))),
		Evidence: map[string]any{"clock_ns": round(env.ClockNS), "clock_step_ns": env.ClockStepNS}, Advice: "look at the system's clock source; latencies near these figures mean nothing"}}
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
		Evidence: map[string]any{"capacity": capacity}, Advice: smallPipeAdvice}}
}

// round leaves three digits behind the point, for people to read.
func round(v float64) float64 { return math.Round(v*1000) / 1000 }
