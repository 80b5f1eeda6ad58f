package machine

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// root is where the kernel tells of itself. Only tests change it.
var root fs.FS = os.DirFS("/")

// hertz is how many units of /proc/stat make a second. Linux shows it to programs as 100, whatever
// the kernel's own is (USER_HZ).
const hertz = 100

// systemUsage reads the line of all CPUs in /proc/stat: user, nice, system, idle, iowait, irq,
// softirq, steal. The time of guests is in user already.
func systemUsage() Usage {
	u := Usage{stolenOf: map[int]float64{}}
	for line := range strings.Lines(read("proc/stat")) {
		f := strings.Fields(line)
		switch {
		case len(f) >= 9 && f[0] == "cpu":
			u.Known = true
			for _, i := range []int{1, 2, 3, 6, 7} {
				u.Busy += number(f[i]) / hertz
			}
			u.Stolen = number(f[8]) / hertz
		case len(f) >= 9 && strings.HasPrefix(f[0], "cpu"):
			u.CPUs++
			id, err := strconv.Atoi(f[0][len("cpu"):])
			if err == nil {
				u.stolenOf[id] = number(f[8]) / hertz
			}
		}
	}
	u.Throttled, u.quotas = throttled()
	return u
}

// throttled returns how long quotas of this process's group, and of the groups above it, kept
// processes from running. Version 2 of cgroups counts microseconds, version 1 nanoseconds.
func throttled() (seconds float64, ok bool) {
	var unified, ofCPU string
	for line := range strings.Lines(read("proc/self/cgroup")) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) < 3:
		case f[1] == "":
			unified = f[2]
		case slices.Contains(strings.Split(f[1], ","), "cpu"):
			ofCPU = f[2]
		}
	}
	seconds, ok = throttledIn("sys/fs/cgroup", unified, "throttled_usec", 1e6)
	if !ok {
		seconds, ok = throttledIn("sys/fs/cgroup/cpu", ofCPU, "throttled_time", 1e9)
	}
	return seconds, ok
}

// throttledIn adds up what a group and each group above it, up to the folder top, have as the value
// of key in their file cpu.stat. perSecond is how many units of that value make a second. In a
// container the group's own folder is often not to be seen, but top describes the same group.
func throttledIn(top, group, key string, perSecond float64) (seconds float64, ok bool) {
	for folder := path.Join("/", group); ; folder = path.Dir(folder) {
		for line := range strings.Lines(read(path.Join(top, folder, "cpu.stat"))) {
			if f := strings.Fields(line); len(f) == 2 && f[0] == key {
				seconds += number(f[1]) / perSecond
				ok = true
			}
		}
		if folder == "/" {
			return seconds, ok
		}
	}
}

// read returns a file's text, "" if there is no such file, as on an old kernel or in a container.
func read(name string) string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// number returns the number that a text states; 0 for any other text, such as "max" in cpu.max.
func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return n
}
