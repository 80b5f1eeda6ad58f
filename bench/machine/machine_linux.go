package machine

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// root is where the kernel tells of itself.
var root = os.DirFS("/")

func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// cpuModel is the first name that /proc/cpuinfo has for a CPU; ARM kernels
// give numbers instead.
func cpuModel() string {
	info := read(root, "proc/cpuinfo")
	if model := field(info, "model name"); model != "" {
		return model
	}
	if part := field(info, "CPU part"); part != "" {
		return "implementer " + field(info, "CPU implementer") + " part " + part
	}
	return ""
}

func virtualisation() string {
	var signs []string
	if strings.Contains(field(read(root, "proc/cpuinfo"), "flags"), "hypervisor") {
		signs = append(signs, strings.TrimSpace("virtual machine "+read(root, "sys/class/dmi/id/sys_vendor")))
	}
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			signs = append(signs, "container")
			break
		}
	}
	return strings.Join(signs, ", ")
}

func governor() string { return read(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") }

func load1() float64 {
	first, _, _ := strings.Cut(read(root, "proc/loadavg"), " ")
	load, _ := strconv.ParseFloat(first, 64) // 0 where unknown
	return load
}

func pipeMaxSize() int {
	n, _ := strconv.Atoi(read(root, "proc/sys/fs/pipe-max-size")) // 0 where unknown
	return n
}

// field is the value of the first "name : value" line.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
