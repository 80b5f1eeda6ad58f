package machine

import (
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

const cpuDir = "sys/devices/system/cpu/"

// systemFaults returns the faults that [Faults] looks for only on Linux. The field Found is empty
// in faults that this machine does not have.
func systemFaults() []Fault {
	return []Fault{
		{
			ID:    "turbo",
			Found: turbo(),
			Advice: "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo, " +
				"or without that file: echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
			always: true,
		},
		{
			ID:     "smt",
			Found:  hardwareThreads(),
			Advice: "echo off | sudo tee /sys/devices/system/cpu/smt/control",
		},
		{
			ID:     "quota",
			Found:  quota(),
			Advice: "lift the quota, or bind the container to whole CPUs instead",
		},
		{
			ID:    "pipes",
			Found: smallPipes(),
			Advice: "this user's pipes have used up fs.pipe-user-pages-soft: close some, " +
				"or raise it with sysctl",
		},
	}
}

// turbo returns a description if the CPUs may run faster than their usual clock, or else "".
func turbo() string {
	noTurbo := read(cpuDir + "intel_pstate/no_turbo") // Intel's driver has only this switch
	boost := read(cpuDir + "cpufreq/boost")           // all other drivers have only this one
	if noTurbo == "0" || noTurbo == "" && boost == "1" {
		return "on: the frequency depends on heat, and on what other cores do"
	}
	return ""
}

func hardwareThreads() string {
	if read(cpuDir+"smt/active") != "1" {
		return ""
	}
	return "on: a core's other hardware thread slows an end when it runs something"
}

// quota describes the limit on this container's CPU time. It returns "" if there is no limit.
func quota() string {
	runtime, period, _ := strings.Cut(read("sys/fs/cgroup/cpu.max"), " ")
	if runtime == "" { // version 1 of cgroups
		runtime = read("sys/fs/cgroup/cpu/cpu.cfs_quota_us")
		period = read("sys/fs/cgroup/cpu/cpu.cfs_period_us")
	}
	if number(runtime) <= 0 || number(period) <= 0 {
		return ""
	}
	return fmt.Sprintf("the container may use %.3g CPUs' time, and stands still beyond it",
		number(runtime)/number(period))
}

// usualPipe is the capacity of a new pipe: sixteen pages, see pipe(7).
const usualPipe = 64 << 10

// smallPipes returns a description if a new pipe has less than the usual capacity, or else "".
func smallPipes() string {
	w, r, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{})
	if err != nil {
		return "" // whatever opens the next pipe will report the error
	}
	defer r.Close()
	defer w.Close()
	capacity, err := w.Capacity()
	if err != nil || capacity >= usualPipe {
		return ""
	}
	return fmt.Sprintf("new pipes hold %s instead of %s",
		results.FormatSize(int64(capacity)), results.FormatSize(usualPipe))
}
