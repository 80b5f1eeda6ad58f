package machine

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// usualPipe is the capacity of a new pipe: sixteen pages, see pipe(7).
const usualPipe = 64 << 10

// smallPipeAdvice is why pipes may be small here: see pipe(7), "/proc files".
const smallPipeAdvice = "this user's pipes have used up fs.pipe-user-pages-soft: " +
	"close some, or raise it with sysctl"

// Files of a CPU, and of the clock.
const (
	cpuDir       = "sys/devices/system/cpu/"
	intelTurbo   = cpuDir + "intel_pstate/no_turbo" // the driver of Intel
	otherTurbo   = cpuDir + "cpufreq/boost"         // of all others
	clockDir     = "sys/devices/system/clocksource/clocksource0/"
	currentClock = clockDir + "current_clocksource"
)

// systemTraits are what Linux tells of in /proc and /sys.
var systemTraits = []trait{
	{id: "turbo", name: "governor", found: turboOfIntel, always: true,
		advice: "echo 1 | sudo tee /" + intelTurbo},
	{id: "turbo", name: "turbo", found: turboOfOthers, always: true,
		advice: "echo 0 | sudo tee /" + otherTurbo},
	{id: "smt", name: "SMT", found: hardwareThreads,
		advice: "echo off | sudo tee /sys/devices/system/cpu/smt/control"},
	{id: "quota", name: "CPU quota", found: quota,
		advice: "lift the quota, or bind the container to whole CPUs instead"},
	{id: "pipe-max-size", name: "fs.pipe-max-size", found: smallPipeMax,
		advice: "sudo sysctl fs.pipe-max-size=1048576"},
	{id: "clock-source", name: "clock source", found: clockSource, always: true,
		advice: "choose tsc where it is available: echo tsc | sudo tee /" + currentClock},
	{id: "memory", name: "memory", found: memory, advice: "close what uses memory"},
	{id: "battery", name: "AC power", found: battery, always: true, advice: "plug it in"},
}

const turboOn = "on: the frequency depends on heat, and on what other cores do"

func turboOfIntel(results.Environment) string {
	if read(intelTurbo) != "0" {
		return ""
	}
	return turboOn
}

func turboOfOthers(results.Environment) string {
	if read(intelTurbo) != "" || read(otherTurbo) != "1" {
		return ""
	}
	return turboOn
}

func hardwareThreads(results.Environment) string {
	if read(cpuDir+"smt/active") != "1" {
		return ""
	}
	return "on: a core's other hardware thread slows an end when it runs something"
}

// quota finds a limit on CPU time, which stops a process in the middle of a sample. cgroup 2 has it
// in one file, cgroup 1 in two.
func quota(results.Environment) string {
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

// usualPipeMax is fs.pipe-max-size as Linux comes: see pipe(7).
const usualPipeMax = 1 << 20

func smallPipeMax(results.Environment) string {
	largest := int64(number(read("proc/sys/fs/pipe-max-size")))
	if largest <= 0 || largest >= usualPipeMax {
		return ""
	}
	return "pipes cannot be grown beyond " + results.FormatSize(largest)
}

// slowSources are clocks that are read by a system call. The usual one is not.
var slowSources = []string{"hpet", "acpi_pm", "jiffies", "refined-jiffies"}

func clockSource(results.Environment) string {
	source := read(currentClock)
	if !slices.Contains(slowSources, source) {
		return ""
	}
	return source + ": each reading of the clock is a system call"
}

// leastMemory is what two workers with their buffers need to stay out of swap, with room for the
// kernel's own.
const leastMemory = 256 << 20

func memory(results.Environment) string {
	kib, _, _ := strings.Cut(field(read("proc/meminfo"), "MemAvailable"), " ")
	free := int64(number(kib)) << 10
	if kib == "" || free >= leastMemory {
		return ""
	}
	return results.FormatSize(free) + " is available: workers may be swapped out"
}

// battery looks for a plug that is out.
func battery(results.Environment) string {
	supplies, err := fs.Glob(root, "sys/class/power_supply/*/type")
	if err != nil {
		return ""
	}
	out := false
	for _, supply := range supplies {
		if read(supply) != "Mains" {
			continue
		}
		if read(path.Join(path.Dir(supply), "online")) == "1" {
			return ""
		}
		out = true
	}
	if !out {
		return ""
	}
	return "runs on its battery, and saves power"
}
