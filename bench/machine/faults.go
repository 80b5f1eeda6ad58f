package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// A trait of a machine may disturb what is measured on it.
type trait struct {
	id    string // of the fault
	check string // what is looked at, for a list
	// look returns what is wrong with the machine, and what that rests on; "" if nothing is, or if
	// the system does not tell.
	look   func(place) (verdict string, e evidence)
	advice string
	// always is set if the trait touches every figure of a run, whatever it measured.
	always bool
}

// A place is what traits look at.
type place struct {
	env  results.Environment
	root fs.FS // where Linux tells of itself; nil elsewhere
}

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
	Available      any     `json:"available,omitempty"`     // clock sources; or bytes of memory
}

// traits are those that every system may have.
var traits = []trait{
	{id: "virtual", check: "virtual machine", look: virtual,
		advice: "its neighbours cannot be seen from here: compare two builds in one job"},
	{id: "imitation", check: "imitation", look: imitation, always: true,
		advice: "what pipes do can be compared with other systems, how fast they are cannot"},
	{id: "placement", check: "CPUs", look: noPlacement,
		advice: "the scheduler's choice decides figures here, and times never gate: " +
			"rely on exact counters"},
	{id: "cpus", look: oneCore,
		advice: "allow this process two cores (taskset, cpuset, a larger machine); " +
			"placement same works"},
	{id: "cpus", look: noSpareCPU,
		advice: "whatever else runs, runs on an end's CPU; trust placement same more than apart, " +
			"and load generators no spare CPU"},
	{id: "governor", look: governor, always: true,
		advice: "sudo cpupower frequency-set -g performance"},
	{id: "clock", check: "clock", look: slowClock, always: true,
		advice: "look at the system's clock source; latencies near these figures mean nothing"},
	{id: "pipes", check: "pipe capacity", look: noPipes,
		advice: "close what holds descriptors, or raise the limit (ulimit -n)"},
	{id: "pipes", look: smallPipes, advice: smallPipeAdvice},
}

// allTraits returns the traits that this system may have.
func allTraits() []trait { return append(traits[:len(traits):len(traits)], systemTraits...) }

// Faults returns what about the machine itself disturbs measurements, each with the remedy. None is
// a fine machine, or one that does not tell: [Checks] says what was looked at. Who else uses it is
// [Usage]'s to say.
func Faults(env results.Environment) []results.Fault {
	return look(allTraits(), place{env, root})
}

// look returns the faults that are found among traits.
func look(among []trait, p place) []results.Fault {
	var out []results.Fault
	for _, t := range among {
		verdict, e := t.look(p)
		if verdict == "" {
			continue
		}
		f := results.Fault{ID: t.id, Verdict: verdict, Advice: t.advice}
		f.Evidence = results.MustEvidence(e)
		out = append(out, f)
	}
	return out
}

// Disturbing returns those of the faults that a run has to be read with, whatever it measured. The
// others are doctor's to tell.
func Disturbing(env results.Environment) []results.Fault {
	var always []trait
	for _, t := range allTraits() {
		if t.always {
			always = append(always, t)
		}
	}
	return look(always, place{env, root})
}

// Checks names what Faults looks at on this system.
func Checks() []string {
	var names []string
	for _, t := range allTraits() {
		if t.check != "" {
			names = append(names, t.check)
		}
	}
	return names
}

func virtual(p place) (string, evidence) {
	return p.env.Virtualisation, evidence{Virtualisation: p.env.Virtualisation}
}

func imitation(p place) (string, evidence) {
	return p.env.Imitation, evidence{Imitation: p.env.Imitation}
}

// choosesCPUs returns the CPUs that ends can be placed on, false if the system lets nobody choose.
func choosesCPUs() (placement.Topology, bool) {
	topology, err := placement.Read()
	return topology, err == nil && len(topology.CPUs) > 0
}

func noPlacement(p place) (string, evidence) {
	if _, chooses := choosesCPUs(); chooses {
		return "", evidence{}
	}
	return "pipebench chooses no CPUs on " + p.env.OS, evidence{}
}

// hasTwoCores reports whether the two ends can have a core each.
func hasTwoCores(t placement.Topology) bool {
	_, err := t.Choose("apart")
	return !errors.Is(err, errors.ErrUnsupported)
}

func oneCore(place) (string, evidence) {
	topology, chooses := choosesCPUs()
	if !chooses || hasTwoCores(topology) {
		return "", evidence{}
	}
	return "no two cores for the two ends", evidence{Topology: topology.String()}
}

func noSpareCPU(place) (string, evidence) {
	topology, chooses := choosesCPUs()
	n := len(topology.CPUs)
	if !chooses || !hasTwoCores(topology) || n > 2 {
		return "", evidence{}
	}
	return fmt.Sprintf("%d CPUs: none is left when both ends run", n), evidence{CPUs: float64(n)}
}

func governor(p place) (string, evidence) {
	name := p.env.Governor
	if name == "" || name == "performance" {
		return "", evidence{}
	}
	return name + ": the CPU's frequency follows its load", evidence{Governor: name}
}

// Thresholds above which the clock is at fault, in nanoseconds. A clock without a system call takes
// some 25 ns, one in an old timer chip more than a microsecond.
const (
	mostReading = 1000
	mostStep    = 1000
)

func slowClock(p place) (string, evidence) {
	if p.env.ClockNS <= mostReading && p.env.ClockStepNS <= mostStep {
		return "", evidence{}
	}
	verdict := fmt.Sprintf("a reading takes %s, the smallest step is %s",
		results.FormatDuration(p.env.ClockNS), results.FormatDuration(float64(p.env.ClockStepNS)))
	return verdict, evidence{ClockNS: round(p.env.ClockNS), ClockStepNS: p.env.ClockStepNS}
}

// newPipeCapacity opens a pipe, to see what capacity it has; 0 if the system does not tell.
func newPipeCapacity() (int, error) {
	w, r, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{})
	if err != nil {
		return 0, err
	}
	defer r.Close()
	defer w.Close()
	capacity, err := w.Capacity()
	if err != nil {
		return 0, nil
	}
	return capacity, nil
}

func noPipes(place) (string, evidence) {
	if _, err := newPipeCapacity(); err != nil {
		return err.Error(), evidence{}
	}
	return "", evidence{}
}

func smallPipes(place) (string, evidence) {
	capacity, err := newPipeCapacity()
	if err != nil || capacity <= 0 || capacity >= usualPipe {
		return "", evidence{}
	}
	return fmt.Sprintf("new pipes hold %s instead of %s", results.FormatSize(int64(capacity)),
		results.FormatSize(int64(usualPipe))), evidence{Capacity: capacity}
}

// round leaves three digits behind the point, for people to read.
func round(v float64) float64 { return math.Round(v*1000) / 1000 }
