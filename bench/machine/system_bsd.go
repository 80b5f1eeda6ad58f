//go:build darwin || freebsd

package machine

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/results"
)

// usualPipe is the capacity of a new pipe, which grows from there (PIPE_SIZE in sys/pipe.h of
// both).
const usualPipe = 16 << 10

// smallPipeAdvice is why pipes may be small here: the kernel's memory for pipes is used up, and
// each falls back to its least buffer.
const smallPipeAdvice = "the kernel's memory for pipes is used up: close some"

// systemChecks is at what systemFaults looks.
var systemChecks = []string{"translation"}

func systemFaults() []results.Fault {
	if imitation() != "" {
		return []results.Fault{{ID: "translation", Verdict: "this build is for another processor, and is translated", Advice: "use the build for arm64"}}
	}
	return nil
}

// systemUsage reads FreeBSD's user, nice, system, interrupt and idle ticks; macOS has no such
// sysctl, and the usage stays unknown.
func systemUsage() Usage {
	raw, err := unix.SysctlRaw("kern.cp_time")
	if err != nil || len(raw) < 5*8 {
		return Usage{}
	}
	hertz, err := unix.SysctlClockinfo("kern.clockrate")
	cpus, cpuErr := unix.SysctlUint32("hw.ncpu")
	if err != nil || cpuErr != nil || hertz.Stathz <= 0 {
		return Usage{}
	}
	u := Usage{Known: true, CPUs: int(cpus)}
	for i := range 4 {
		u.Busy += float64(binary.LittleEndian.Uint64(raw[8*i:])) / float64(hertz.Stathz)
	}
	return u
}

func kernel() string {
	release, _ := unix.Sysctl("kern.osrelease") // empty where unknown
	return release
}

func cpuModel() string {
	for _, name := range []string{"machdep.cpu.brand_string", "hw.model"} { // macOS, FreeBSD
		if model, err := unix.Sysctl(name); err == nil && model != "" {
			return model
		}
	}
	return ""
}

func virtualisation() string {
	if guest, err := unix.Sysctl("kern.vm_guest"); err == nil && guest != "none" { // FreeBSD
		return "virtual machine " + guest
	}
	if n, err := unix.SysctlUint32("kern.hv_vmm_present"); err == nil && n != 0 { // macOS
		return "virtual machine"
	}
	return ""
}

// imitation tells on macOS that the build is for another processor.
func imitation() string {
	if n, err := unix.SysctlUint32("sysctl.proc_translated"); err == nil && n == 1 {
		return "translated by Rosetta"
	}
	return ""
}

// governor is not told: these systems keep it to themselves.
func governor() string { return "" }

// load1 reads struct loadavg: three fixed-point numbers, padding to eight bytes, and their scale as
// a long.
func load1() *float64 {
	raw, err := unix.SysctlRaw("vm.loadavg")
	if err != nil || len(raw) < 24 || binary.LittleEndian.Uint64(raw[16:]) == 0 {
		return nil
	}
	return new(float64(binary.LittleEndian.Uint32(raw)) / float64(binary.LittleEndian.Uint64(raw[16:])))
}

// pipeMaxSize is not a setting here: a pipe grows by itself, to 64 KiB.
func pipeMaxSize() int { return 0 }
