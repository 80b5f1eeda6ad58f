package machine

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
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
	{id: "turbo", check: "governor", look: turboOfIntel, always: true,
		advice: "echo 1 | sudo tee /" + intelTurbo},
	{id: "turbo", check: "turbo", look: turboOfOthers, always: true,
		advice: "echo 0 | sudo tee /" + otherTurbo},
	{id: "smt", check: "SMT", look: hardwareThreads,
		advice: "echo off | sudo tee /sys/devices/system/cpu/smt/control"},
	{id: "quota", check: "CPU quota", look: quota,
		advice: "lift the quota, or bind the container to whole CPUs instead"},
	{id: "pipe-max-size", check: "fs.pipe-max-size", look: smallPipeMax,
		advice: "sudo sysctl fs.pipe-max-size=1048576"},
	{id: "clock-source", check: "clock source", look: clockSource, always: true,
		advice: "choose tsc where it is available: echo tsc | sudo tee /" + currentClock},
	{id: "memory", check: "memory", look: memory, advice: "close what uses memory"},
	{id: "battery", check: "AC power", look: battery, always: true, advice: "plug it in"},
}

const turboOn = "on: the frequency depends on heat, and on what other cores do"

func turboOfIntel(p place) (string, evidence) {
	if read(p.root, intelTurbo) != "0" {
		return "", evidence{}
	}
	return turboOn, evidence{}
}

func turboOfOthers(p place) (string, evidence) {
	if read(p.root, intelTurbo) != "" || read(p.root, otherTurbo) != "1" {
		return "", evidence{}
	}
	return turboOn, evidence{}
}

func hardwareThreads(p place) (string, evidence) {
	if read(p.root, cpuDir+"smt/active") != "1" {
		return "", evidence{}
	}
	return "on: a core's other hardware thread slows an end when it runs something", evidence{}
}

// quota finds a limit on CPU time, which stops a process in the middle of a sample. cgroup 2 has it
// in one file, cgroup 1 in two.
func quota(p place) (string, evidence) {
	runtime, period, _ := strings.Cut(read(p.root, "sys/fs/cgroup/cpu.max"), " ")
	if runtime == "" {
		runtime = read(p.root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us")
		period = read(p.root, "sys/fs/cgroup/cpu/cpu.cfs_period_us")
	}
	if number(runtime) <= 0 || number(period) <= 0 {
		return "", evidence{}
	}
	cpus := round(number(runtime) / number(period))
	return "the container may use " + strconv.FormatFloat(cpus, 'f', -1, 64) +
		" CPUs' time, and stands still beyond it", evidence{CPUs: cpus}
}

// usualPipeMax is fs.pipe-max-size as Linux comes: see pipe(7).
const usualPipeMax = 1 << 20

func smallPipeMax(p place) (string, evidence) {
	largest := int64(number(read(p.root, "proc/sys/fs/pipe-max-size")))
	if largest <= 0 || largest >= usualPipeMax {
		return "", evidence{}
	}
	return "pipes cannot be grown beyond " + results.FormatSize(largest),
		evidence{PipeMaxSize: largest}
}

// slowSources are clocks that are read by a system call. The usual one is not.
var slowSources = []string{"hpet", "acpi_pm", "jiffies", "refined-jiffies"}

func clockSource(p place) (string, evidence) {
	source := read(p.root, currentClock)
	if !slices.Contains(slowSources, source) {
		return "", evidence{}
	}
	return source + ": each reading of the clock is a system call",
		evidence{Source: source, Available: read(p.root, clockDir+"available_clocksource")}
}

// leastMemory is what two workers with their buffers need to stay out of swap, with room for the
// kernel's own.
const leastMemory = 256 << 20

func memory(p place) (string, evidence) {
	kib, _, _ := strings.Cut(field(read(p.root, "proc/meminfo"), "MemAvailable"), " ")
	free := int64(number(kib)) << 10
	if kib == "" || free >= leastMemory {
		return "", evidence{}
	}
	return results.FormatSize(free) + " is available: workers may be swapped out",
		evidence{Available: free}
}

// battery looks for a plug that is out.
func battery(p place) (string, evidence) {
	supplies, err := fs.Glob(p.root, "sys/class/power_supply/*/type")
	if err != nil {
		return "", evidence{}
	}
	out := false
	for _, supply := range supplies {
		if read(p.root, supply) != "Mains" {
			continue
		}
		if read(p.root, path.Join(path.Dir(supply), "online")) == "1" {
			return "", evidence{}
		}
		out = true
	}
	if !out {
		return "", evidence{}
	}
	return "runs on its battery, and saves power", evidence{}
}
