package machine

import (
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

const cpuDir = "sys/devices/system/cpu/"

// systemFaults returns the faults that are looked for on Linux only. Found is empty for faults that
// this machine does not have.
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

// turbo says so if the CPUs may run faster than their usual clock. It reads the switch of Intel's
// driver, and the one that all other drivers have.
func turbo() string {
	ofIntel := read(cpuDir + "intel_pstate/no_turbo")
	if ofIntel == "0" || ofIntel == "" && read(cpuDir+"cpufreq/boost") == "1" {
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

// quota finds a limit on CPU time, which stops a process in the middle of a sample. cgroup 2 has it
// in one file, cgroup 1 in two.
func quota() string {
	runtime, period, _ := strings.Cut(read("sys/fs/cgroup/cpu.max"), " ")
	if runtime == "" {
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

// smallPipes opens a pipe, to see whether its capacity is the usual one. If it cannot open one it
// reports no fault: whatever opens the next pipe will report the error.
func smallPipes() string {
	w, r, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{})
	if err != nil {
		return ""
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
