//go:build darwin || freebsd

package machine

import (
	"cmp"
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/results"
)

// systemFaults returns nothing: these systems tell of no faults besides those that [Faults] looks
// for.
func systemFaults() []Fault { return nil }

// systemUsage reads FreeBSD's counters of ticks: user, nice, system, interrupt and idle. On macOS,
// which has no sysctl for them, the usage is unknown.
func systemUsage() Usage {
	raw, err := unix.SysctlRaw("kern.cp_time")
	if err != nil || len(raw) < 5*8 {
		return Usage{}
	}
	rates, err := unix.SysctlClockinfo("kern.clockrate")
	cpus, cpuErr := unix.SysctlUint32("hw.ncpu")
	if err != nil || cpuErr != nil || rates.Stathz <= 0 {
		return Usage{}
	}
	u := Usage{Known: true, CPUs: int(cpus)}
	for i := range 4 { // all but idle
		u.Busy += float64(binary.LittleEndian.Uint64(raw[8*i:])) / float64(rates.Stathz)
	}
	return u
}

// describe fills in what macOS and FreeBSD tell about the machine. PipeMaxSize stays empty, because
// there no program can choose the capacity of a pipe.
func describe(env *results.Environment) {
	env.Kernel, _ = unix.Sysctl("kern.osrelease") // empty where unknown
	brand, _ := unix.Sysctl("machdep.cpu.brand_string")
	model, _ := unix.Sysctl("hw.model")
	env.CPU = cmp.Or(brand, model) // brand on macOS, model on FreeBSD

	if guest, err := unix.Sysctl("kern.vm_guest"); err == nil && guest != "none" { // FreeBSD
		env.Virtualisation = "virtual machine " + guest
	} else if n, err := unix.SysctlUint32("kern.hv_vmm_present"); err == nil && n != 0 { // macOS
		env.Virtualisation = "virtual machine"
	}
	// macOS tells whether this program was built for another processor.
	if n, err := unix.SysctlUint32("sysctl.proc_translated"); err == nil && n == 1 {
		env.Imitation = "translated by Rosetta"
	}
	// struct loadavg has three fixed-point numbers of 4 bytes, 4 bytes of padding, and the scale of
	// the numbers.
	if raw, err := unix.SysctlRaw("vm.loadavg"); err == nil && len(raw) >= 24 {
		if scale := binary.LittleEndian.Uint64(raw[16:]); scale != 0 {
			env.Load1 = new(float64(binary.LittleEndian.Uint32(raw)) / float64(scale))
		}
	}
}
