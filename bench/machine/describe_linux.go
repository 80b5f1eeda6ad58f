package machine

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// describe fills in what Linux tells.
func describe(env *results.Environment) {
	var u unix.Utsname
	if err := unix.Uname(&u); err == nil {
		env.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	env.CPU = cpuModel()
	env.Virtualisation = virtualised()
	// qemu-user answers /proc/self/exe itself, but not this name of the program.
	program, err := os.Readlink("/proc/thread-self/exe")
	if err != nil {
		program = ""
	}
	env.Imitation = imitated(program)
	env.Governor = read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	first, _, _ := strings.Cut(read("proc/loadavg"), " ")
	if load, err := strconv.ParseFloat(first, 64); err == nil {
		env.Load1 = &load
	}
	env.PipeMaxSize = int(number(read("proc/sys/fs/pipe-max-size")))
}

// cpuModel returns the first name that /proc/cpuinfo has for a CPU; ARM kernels give numbers
// instead.
func cpuModel() string {
	info := read("proc/cpuinfo")
	if model := field(info, "model name"); model != "" {
		return model
	}
	if part := field(info, "CPU part"); part != "" {
		return "implementer " + field(info, "CPU implementer") + " part " + part
	}
	return field(info, "cpu") // POWER
}

func virtualised() string {
	var signs []string
	switch {
	case strings.Contains(read("proc/version"), "WSL2"):
		signs = append(signs, "virtual machine WSL 2")
	case strings.Contains(field(read("proc/cpuinfo"), "flags"), "hypervisor"):
		vendor := read("sys/class/dmi/id/sys_vendor")
		signs = append(signs, strings.TrimSpace("virtual machine "+vendor))
	}
	for _, mark := range []string{".dockerenv", "run/.containerenv", "run/systemd/container"} {
		if _, err := fs.Stat(root, mark); err == nil {
			signs = append(signs, "container")
			break
		}
	}
	return strings.Join(signs, ", ")
}

// imitated returns what imitates Linux or the processor, "" if nothing does. Each gives itself away
// by its name in /proc.
func imitated(program string) string {
	version := read("proc/version")
	switch {
	case syspipe.IsGVisor(version):
		return "imitated by gVisor"
	case strings.Contains(version, "Microsoft"): // WSL 2 is a real Linux, and spells it "microsoft"
		return "imitated by WSL 1"
	case emulated(program):
		return "emulated by QEMU"
	}
	return ""
}

func emulated(program string) bool {
	info := read("proc/cpuinfo")
	switch {
	case strings.HasPrefix(path.Base(program), "qemu-"):
		return true
	case strings.Contains(info, "QEMU TCG"): // x86
		return true
	case field(info, "CPU implementer") == "0x00" && field(info, "CPU part") == "0x051":
		return true // arm64: implementer 0 is nobody, and 0x51 is Q
	case strings.Contains(read("proc/sysinfo"), "QEMU"): // s390x
		return true
	}
	// On POWER, guests of KVM say "emulated by qemu", too.
	hypervisor := read("proc/device-tree/hypervisor/compatible")
	return strings.Contains(field(info, "machine"), "emulated by qemu") &&
		!strings.Contains(hypervisor, "kvm")
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
