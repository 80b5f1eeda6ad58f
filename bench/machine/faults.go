package machine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
)

// A Fault is a property or state of a machine that disturbs what is measured on it.
type Fault struct {
	ID     string // a word that names it, such as "governor"
	Found  string // what is wrong
	Advice string // the remedy
	always bool   // the fault affects every figure of a run, whatever was measured
}

// Warning returns the fault as one line of text, for [results.Record.Warnings].
func (f Fault) Warning() string { return fmt.Sprintf("%s: %s; %s", f.ID, f.Found, f.Advice) }

// Finding returns the fault as a finding, which is a record of a results file.
func (f Fault) Finding() results.Finding {
	return results.Finding{
		Kind: results.KindFinding, ID: results.AreaMachine + "/" + f.ID, Verdict: results.Noted,
		Found: f.Found, Advice: f.Advice,
	}
}

// Faults returns the faults of the machine itself. For disturbances by other programs, see
// [Usage.Faults].
func Faults(env results.Environment) []Fault {
	list := []Fault{ // all known faults; Found is "" if there is no fault
		{
			ID:     "virtual",
			Found:  env.Virtualisation,
			Advice: "its neighbours cannot be seen from here: compare two builds in one job",
		},
		{
			ID:     "imitation",
			Found:  env.Imitation,
			Advice: "what pipes do can be compared with other systems, how fast they are cannot",
			always: true,
		},
		{
			ID:    "cpus",
			Found: fewCPUs(env.OS),
			Advice: "placement same is the steadiest, and counts are exact; more cores, where " +
				"this process may use them, make the others steadier",
		},
		{
			ID:     "governor",
			Found:  governor(env.Governor),
			Advice: "sudo cpupower frequency-set -g performance",
			always: true,
		},
		{
			ID:    "clock",
			Found: slowClock(env),
			Advice: "choose a clock source that needs no system call, such as tsc; latencies " +
				"near these figures mean nothing",
			always: true,
		},
		{
			ID:     "pipe-max-size",
			Found:  smallPipeMax(env.PipeMaxSize),
			Advice: "sudo sysctl fs.pipe-max-size=1048576",
		},
	}
	list = append(list, systemFaults()...)
	return slices.DeleteFunc(list, func(f Fault) bool { return f.Found == "" })
}

// Disturbing returns the faults of a machine that affect every figure, whatever is measured.
func Disturbing(env results.Environment) []Fault {
	return slices.DeleteFunc(Faults(env), func(f Fault) bool { return !f.always })
}

// fewCPUs returns "" if this machine has enough CPUs for the two ends of a pipe. Otherwise it says
// why not.
func fewCPUs(system string) string {
	topology, err := placement.Read()
	n := len(topology.CPUs)
	if err != nil || n == 0 {
		return "pipebench chooses no CPUs on " + system + ": the scheduler decides figures"
	}
	if _, err := topology.Choose("apart"); errors.Is(err, errors.ErrUnsupported) {
		return "no two cores for the two ends"
	}
	if n == 2 {
		return "2 CPUs: none is left when both ends run, and whatever else runs disturbs them"
	}
	return ""
}

func governor(name string) string {
	if name == "" || name == "performance" {
		return ""
	}
	return name + ": the CPU's frequency follows its load"
}

// Above these limits, in nanoseconds, the clock counts as a fault of the machine. Reading a good
// clock takes some 25 ns, reading an old timer chip more than 1000 ns.
const (
	maxReading = 1000
	maxStep    = 1000
)

func slowClock(env results.Environment) string {
	if env.ClockNS <= maxReading && env.ClockStepNS <= maxStep {
		return ""
	}
	return fmt.Sprintf("a reading takes %s, the smallest step is %s",
		results.FormatDuration(env.ClockNS), results.FormatDuration(float64(env.ClockStepNS)))
}

// usualPipeMax is the default of fs.pipe-max-size on Linux: see pipe(7).
const usualPipeMax = 1 << 20

func smallPipeMax(largest int) string {
	if largest <= 0 || largest >= usualPipeMax {
		return ""
	}
	return "pipes cannot be grown beyond " + results.FormatSize(int64(largest))
}
