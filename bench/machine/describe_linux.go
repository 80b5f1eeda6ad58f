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

// describe fills in the fields that Linux tells.
func describe(env *results.Environment) {
	var u unix.Utsname
	if err := unix.Uname(&u); err == nil {
		env.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	env.CPU = cpuModel()
	env.Virtualisation = virtualised()
	// Under qemu-user this link names the emulator; /proc/self/exe would name the emulated program.
	program, _ := os.Readlink("/proc/thread-self/exe") // "" if the link cannot be read
	env.Imitation = imitated(program)
	env.Governor = read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	first, _, _ := strings.Cut(read("proc/loadavg"), " ")
	if load, err := strconv.ParseFloat(first, 64); err == nil {
		env.Load1 = &load
	}
	env.PipeMaxSize = int(number(read("proc/sys/fs/pipe-max-size")))
}

// cpuModel returns the name of the first CPU in /proc/cpuinfo.
func cpuModel() string {
	info := read("proc/cpuinfo")
	if model := field(info, "model name"); model != "" {
		return model
	}
	if part := field(info, "CPU part"); part != "" { // ARM has numbers instead
		return "implementer " + field(info, "CPU implementer") + " part " + part
	}
	return field(info, "cpu") // POWER
}

// virtualised names the virtual machine or container in which this system runs. If there is none,
// it returns "".
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

// imitated names the program that imitates Linux or the processor, such as gVisor, or returns "".
// The parameter program is the file that this process runs, according to the kernel.
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

// emulated reports whether QEMU emulates the processor.
func emulated(program string) bool {
	info := read("proc/cpuinfo")
	switch {
	case strings.HasPrefix(path.Base(program), "qemu-"):
		return true
	case strings.Contains(info, "QEMU TCG"): // x86
		return true
	case field(info, "CPU implementer") == "0x00" && field(info, "CPU part") == "0x051":
		return true // arm64: an emulated CPU; no maker has the number 0, and 0x51 is the letter Q
	case strings.Contains(read("proc/sysinfo"), "QEMU"): // s390x
		return true
	}
	// On POWER, a guest of KVM also says "emulated by qemu", although it runs on the real
	// processor.
	hypervisor := read("proc/device-tree/hypervisor/compatible")
	return strings.Contains(field(info, "machine"), "emulated by qemu") &&
		!strings.Contains(hypervisor, "kvm")
}

// field returns the value in the first line of info of the form "name : value", or "" if there is
// no such line.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
