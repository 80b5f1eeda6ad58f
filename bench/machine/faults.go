package machine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// A Fault is something about a machine that disturbs what is measured on it.
type Fault struct {
	ID     string // "governor"
	Found  string // what is wrong
	Advice string // the remedy
}

// Warning returns the fault in a line, as the records of a run have it.
func (f Fault) Warning() string { return fmt.Sprintf("%s: %s; %s", f.ID, f.Found, f.Advice) }

// Finding returns the fault as a line of results.
func (f Fault) Finding() results.Finding {
	return results.Finding{
		Kind: results.KindFinding, ID: results.AreaMachine + "/" + f.ID, Verdict: results.Noted,
		Found: f.Found, Advice: f.Advice,
	}
}

// A trait is what a machine may have that disturbs.
type trait struct {
	id   string // of the fault
	name string // of what is looked at, for a list; "" for a further look at the same
	// found says what is wrong with the machine, "" if nothing is, or if the system does not tell.
	found  func(results.Environment) string
	advice string
	// always is set if the trait touches every figure of a run, whatever it measured.
	always bool
}

// traits are those that every system may have.
var traits = []trait{
	{id: "virtual", name: "virtual machine", found: virtual,
		advice: "its neighbours cannot be seen from here: compare two builds in one job"},
	{id: "imitation", name: "imitation", found: imitation, always: true,
		advice: "what pipes do can be compared with other systems, how fast they are cannot"},
	{id: "placement", name: "CPUs", found: noPlacement,
		advice: "the scheduler's choice decides figures here, and times never gate: " +
			"rely on exact counters"},
	{id: "cpus", found: oneCore,
		advice: "allow this process two cores (taskset, cpuset, a larger machine); " +
			"placement same works"},
	{id: "cpus", found: noSpareCPU,
		advice: "whatever else runs, runs on an end's CPU; trust placement same more than apart, " +
			"and load generators no spare CPU"},
	{id: "governor", found: governor, always: true,
		advice: "sudo cpupower frequency-set -g performance"},
	{id: "clock", name: "clock", found: slowClock, always: true,
		advice: "look at the system's clock source; latencies near these figures mean nothing"},
	{id: "pipes", name: "pipe capacity", found: noPipes,
		advice: "close what holds descriptors, or raise the limit (ulimit -n)"},
	{id: "pipes", found: smallPipes, advice: smallPipeAdvice},
}

// Faults returns what about the machine itself disturbs measurements. None is a fine machine, or
// one that does not tell: [Checks] says what was looked at. Who else uses it is [Usage]'s to say.
func Faults(env results.Environment) []Fault { return faults(env, false) }

// Disturbing returns those of the faults that a run has to be read with, whatever it measured.
func Disturbing(env results.Environment) []Fault { return faults(env, true) }

func faults(env results.Environment, onlyAlways bool) []Fault {
	var list []Fault
	for _, t := range slices.Concat(traits, systemTraits) {
		if onlyAlways && !t.always {
			continue
		}
		if found := t.found(env); found != "" {
			list = append(list, Fault{t.id, found, t.advice})
		}
	}
	return list
}

// Checks names what Faults looks at on this system.
func Checks() []string {
	var names []string
	for _, t := range slices.Concat(traits, systemTraits) {
		if t.name != "" {
			names = append(names, t.name)
		}
	}
	return names
}

func virtual(env results.Environment) string { return env.Virtualisation }

func imitation(env results.Environment) string { return env.Imitation }

// choosesCPUs returns the CPUs that ends can be placed on, false if the system lets nobody choose.
func choosesCPUs() (placement.Topology, bool) {
	topology, err := placement.Read()
	return topology, err == nil && len(topology.CPUs) > 0
}

func noPlacement(env results.Environment) string {
	if _, chooses := choosesCPUs(); chooses {
		return ""
	}
	return "pipebench chooses no CPUs on " + env.OS
}

// hasTwoCores reports whether the two ends can have a core each.
func hasTwoCores(t placement.Topology) bool {
	_, err := t.Choose("apart")
	return !errors.Is(err, errors.ErrUnsupported)
}

func oneCore(results.Environment) string {
	topology, chooses := choosesCPUs()
	if !chooses || hasTwoCores(topology) {
		return ""
	}
	return "no two cores for the two ends"
}

func noSpareCPU(results.Environment) string {
	topology, chooses := choosesCPUs()
	n := len(topology.CPUs)
	if !chooses || !hasTwoCores(topology) || n > 2 {
		return ""
	}
	return fmt.Sprintf("%d CPUs: none is left when both ends run", n)
}

func governor(env results.Environment) string {
	if env.Governor == "" || env.Governor == "performance" {
		return ""
	}
	return env.Governor + ": the CPU's frequency follows its load"
}

// Thresholds above which the clock is at fault, in nanoseconds. A clock without a system call takes
// some 25 ns, one in an old timer chip more than a microsecond.
const (
	mostReading = 1000
	mostStep    = 1000
)

func slowClock(env results.Environment) string {
	if env.ClockNS <= mostReading && env.ClockStepNS <= mostStep {
		return ""
	}
	return fmt.Sprintf("a reading takes %s, the smallest step is %s",
		results.FormatDuration(env.ClockNS), results.FormatDuration(float64(env.ClockStepNS)))
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

func noPipes(results.Environment) string {
	if _, err := newPipeCapacity(); err != nil {
		return err.Error()
	}
	return ""
}

func smallPipes(results.Environment) string {
	capacity, err := newPipeCapacity()
	if err != nil || capacity <= 0 || capacity >= usualPipe {
		return ""
	}
	return fmt.Sprintf("new pipes hold %s instead of %s",
		results.FormatSize(int64(capacity)), results.FormatSize(int64(usualPipe)))
}
