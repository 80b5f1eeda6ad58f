//go:build darwin || freebsd

package machine

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

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

// governor is not told: these systems keep it to themselves.
func governor() string { return "" }

// load1 reads struct loadavg: three fixed-point numbers, padding to eight
// bytes, and their scale as a long.
func load1() float64 {
	raw, err := unix.SysctlRaw("vm.loadavg")
	if err != nil || len(raw) < 24 {
		return 0
	}
	scale := binary.LittleEndian.Uint64(raw[16:])
	if scale == 0 {
		return 0
	}
	return float64(binary.LittleEndian.Uint32(raw)) / float64(scale)
}

// pipeMaxSize is not a setting here: a pipe grows by itself, to 64 KiB.
func pipeMaxSize() int { return 0 }
