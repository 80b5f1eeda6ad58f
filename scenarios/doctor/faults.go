package doctor

import (
	"fmt"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/results"
)

// oldLoad is the load average above which others are taken to be at work, where
// nothing better is known.
const oldLoad = 0.5

// Faults are what about the machine disturbs measurements, each with the remedy.
// None is a fine machine, or one that does not tell; [Watch.Looked] says at what
// was looked.
func (w *Watch) Faults(env results.Environment) []results.Fault {
	out := append(w.company(env), machine.Faults(env)...)
	for i := range out {
		out[i].ID = results.EnvironmentFault + out[i].ID
		out[i].Run, out[i].Time = env.Run, env.Time
	}
	return out
}

// Looked is at what Faults looks on this system.
func (w *Watch) Looked() []string {
	looked := []string{"other load"}
	if w.working.Known {
		looked = append(looked, "steal")
	}
	return append(looked, machine.Checks()...)
}

// company is who else uses the CPUs: while no invocation ran, or, where they left
// no time to see that, by the load average.
func (w *Watch) company(env results.Environment) []results.Fault {
	var out []results.Fault
	add := func(f results.Fault, found bool) {
		if found {
			out = append(out, f)
		}
	}
	add(w.waiting.Load())
	if !w.waiting.Shows() {
		add(results.Fault{ID: "load", Verdict: fmt.Sprintf("the load average was %.2f before anything was measured", env.Load1),
			Evidence: results.MustEvidence(map[string]any{"load1": env.Load1}), Advice: "stop what else runs, or wait until it is done"}, env.Load1 > oldLoad)
	}
	add(w.working.Steal())
	add(w.working.Throttling())
	return out
}
