package machine

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe"
)

// usualPipe is the capacity of a new pipe: sixteen pages, see pipe(7).
const usualPipe = 64 << 10

// smallPipeAdvice is why pipes may be small here: see pipe(7), "/proc files".
const smallPipeAdvice = "this user's pipes have used up fs.pipe-user-pages-soft: close some, or raise it with sysctl"

// systemChecks is at what systemFaults looks.
var systemChecks = []string{"governor", "turbo", "SMT", "CPU quota", "fs.pipe-max-size", "clock source", "memory", "AC power"}

func systemFaults(results.Environment) []results.Fault { return sysfs(root) }

// hertz is the unit of /proc/stat. Linux shows it to programs as 100, whatever the kernel's own is
// (USER_HZ).
const hertz = 100

func systemUsage() Usage { return procUsage(root) }

// procUsage reads the line of all CPUs in /proc/stat: user, nice, system, idle, iowait, irq,
// softirq, steal. The time of guests is in user already.
func procUsage(root fs.FS) Usage {
	u := Usage{stolenOf: map[int]float64{}}
	for line := range strings.Lines(read(root, "proc/stat")) {
		f := strings.Fields(line)
		switch {
		case len(f) >= 9 && f[0] == "cpu":
			u.Known = true
			for _, i := range []int{1, 2, 3, 6, 7} {
				u.Busy += number(f[i]) / hertz
			}
			u.Stolen = number(f[8]) / hertz
		case len(f) > 0 && strings.HasPrefix(f[0], "cpu"):
			u.CPUs++
			if id, err := strconv.Atoi(f[0][len("cpu"):]); err == nil && len(f) >= 9 {
				u.stolenOf[id] = number(f[8]) / hertz
			}
		}
	}
	u.Throttled, u.quotas = throttled(root)
	return u
}

// throttled returns how long this process's group was kept from running by its quota: cgroup 2
// counts microseconds, cgroup 1 nanoseconds.
func throttled(root fs.FS) (seconds float64, ok bool) {
	for _, source := range []struct {
		file, key string
		unit      float64
	}{
		{"sys/fs/cgroup/cpu.stat", "throttled_usec", 1e6},
		{"sys/fs/cgroup/cpu/cpu.stat", "throttled_time", 1e9},
	} {
		for line := range strings.Lines(read(root, source.file)) {
			if f := strings.Fields(line); len(f) == 2 && f[0] == source.key {
				return number(f[1]) / source.unit, true
			}
		}
	}
	return 0, false
}

const (
	// usualPipeMax is fs.pipe-max-size as Linux comes: see pipe(7).
	usualPipeMax = 1 << 20
	// leastMemory is what two workers with their buffers need to stay out of swap, with room for the
	// kernel's own.
	leastMemory = 256 << 20
)

// sysfs finds the faults that Linux tells of in /proc and /sys.
func sysfs(root fs.FS) (out []results.Fault) {
	report := func(found bool, f results.Fault) {
		if found {
			out = append(out, f)
		}
	}
	// A turbo is turned off by one file for Intel's driver, and by another for all others.
	const dir, intel, other = "sys/devices/system/cpu/", "intel_pstate/no_turbo", "cpufreq/boost"
	heat := results.Fault{ID: "turbo", Verdict: "on: the frequency depends on heat, and on what other cores do"}
	switch {
	case read(root, dir+intel) == "0":
		heat.Advice = "echo 1 | sudo tee /" + dir + intel
	case read(root, dir+intel) == "" && read(root, dir+other) == "1":
		heat.Advice = "echo 0 | sudo tee /" + dir + other
	}
	report(heat.Advice != "", heat)
	report(read(root, "sys/devices/system/cpu/smt/active") == "1", results.Fault{
		ID: "smt", Verdict: "on: a core's other hardware thread slows an end when it runs something",
		Advice: "echo off | sudo tee /sys/devices/system/cpu/smt/control"})

	// A quota is a limit on CPU time, which stops a process in the middle of a sample.
	runtime, period, _ := strings.Cut(read(root, "sys/fs/cgroup/cpu.max"), " ")
	if runtime == "" {
		runtime, period = read(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us"), read(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us")
	}
	if number(runtime) > 0 && number(period) > 0 {
		cpus := round(number(runtime) / number(period))
		verdict := "the container may use " + strconv.FormatFloat(cpus, 'f', -1, 64) + " CPUs' time, and stands still beyond it"
		report(true, fault("quota", verdict, evidence{CPUs: cpus}, "lift the quota, or bind the container to whole CPUs instead"))
	}
	largest := int64(number(read(root, "proc/sys/fs/pipe-max-size")))
	report(largest > 0 && largest < usualPipeMax, fault("pipe-max-size", "pipes cannot be grown beyond "+results.FormatSize(largest),
		evidence{PipeMaxSize: largest}, "sudo sysctl fs.pipe-max-size=1048576"))

	// The usual clock of Linux is read without a system call.
	const clocks = "sys/devices/system/clocksource/clocksource0/"
	source := read(root, clocks+"current_clocksource")
	slow := slices.Contains([]string{"hpet", "acpi_pm", "jiffies", "refined-jiffies"}, source)
	report(slow, fault("clock-source", source+": each reading of the clock is a system call",
		evidence{Source: source, Available: read(root, clocks+"available_clocksource")},
		"choose tsc where it is available: echo tsc | sudo tee /"+clocks+"current_clocksource"))

	kib, _, _ := strings.Cut(field(read(root, "proc/meminfo"), "MemAvailable"), " ")
	free := int64(number(kib)) << 10
	report(kib != "" && free < leastMemory, fault("memory", results.FormatSize(free)+" is available: workers may be swapped out",
		evidence{Available: free}, "close what uses memory"))

	supplies, _ := fs.Glob(root, "sys/class/power_supply/*/type") // the pattern is constant
	mains := stat.Filter(supplies, func(supply string) bool { return read(root, supply) == "Mains" })
	plugged := slices.ContainsFunc(mains, func(supply string) bool { return read(root, path.Join(path.Dir(supply), "online")) == "1" })
	report(len(mains) > 0 && !plugged, results.Fault{ID: "battery", Verdict: "runs on its battery, and saves power", Advice: "plug it in"})
	return out
}

// read is a file's text, "" where it is not there: an old kernel, a container.
func read(root fs.FS, name string) string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// number is 0 where there is none, as in cpu.max's "max".
func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return n
}

// root is where the kernel tells of itself.
var root = os.DirFS("/")

// describe fills in what Linux tells.
func describe(env *results.Environment) {
	var u unix.Utsname
	if err := unix.Uname(&u); err == nil {
		env.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	env.CPU, env.Virtualisation = cpuModel(), virtualised(root)
	// Of the names of this program qemu-user answers /proc/self/exe itself, and not this one.
	program, _ := os.Readlink("/proc/thread-self/exe")
	env.Imitation = imitated(root, program)
	env.Governor = read(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	first, _, _ := strings.Cut(read(root, "proc/loadavg"), " ")
	if load, err := strconv.ParseFloat(first, 64); err == nil {
		env.Load1 = &load
	}
	env.PipeMaxSize = int(number(read(root, "proc/sys/fs/pipe-max-size")))
}

// cpuModel returns the first name that /proc/cpuinfo has for a CPU; ARM kernels give numbers
// instead.
func cpuModel() string {
	info := read(root, "proc/cpuinfo")
	if model := field(info, "model name"); model != "" {
		return model
	}
	if part := field(info, "CPU part"); part != "" {
		return "implementer " + field(info, "CPU implementer") + " part " + part
	}
	return field(info, "cpu") // POWER
}

func virtualised(root fs.FS) string {
	var signs []string
	switch {
	case strings.Contains(read(root, "proc/version"), "WSL2"):
		signs = append(signs, "virtual machine WSL 2")
	case strings.Contains(field(read(root, "proc/cpuinfo"), "flags"), "hypervisor"):
		signs = append(signs, strings.TrimSpace("virtual machine "+read(root, "sys/class/dmi/id/sys_vendor")))
	}
	for _, mark := range []string{".dockerenv", "run/.containerenv", "run/systemd/container"} {
		if _, err := fs.Stat(root, mark); err == nil {
			signs = append(signs, "container")
			break
		}
	}
	return strings.Join(signs, ", ")
}

// imitated finds what stands in for Linux or for the processor, by what it calls itself there.
func imitated(root fs.FS, program string) string {
	version, info := read(root, "proc/version"), read(root, "proc/cpuinfo")
	switch {
	case syspipe.IsGVisor(version):
		return "imitated by gVisor"
	case strings.Contains(version, "Microsoft"): // WSL 2 is a Linux, and writes itself small
		return "imitated by WSL 1"
	case strings.HasPrefix(path.Base(program), "qemu-"),
		strings.Contains(info, "QEMU TCG"),                                             // x86
		field(info, "CPU implementer") == "0x00" && field(info, "CPU part") == "0x051", // arm64: Q, of nobody
		strings.Contains(read(root, "proc/sysinfo"), "QEMU"),                           // s390x
		strings.Contains(field(info, "machine"), "emulated by qemu") && // POWER, as KVM's guests say too
			!strings.Contains(read(root, "proc/device-tree/hypervisor/compatible"), "kvm"):
		return "emulated by QEMU"
	}
	return ""
}

// field returns the value of the first "name : value" line.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
