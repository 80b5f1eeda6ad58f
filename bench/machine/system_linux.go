package machine

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// root is the folder below which the files of the kernel are read. Only tests change it.
var root fs.FS = os.DirFS("/")

// hertz is how many of the time units in /proc/stat make a second (USER_HZ). Every program sees
// 100, even if the kernel uses another unit internally.
const hertz = 100

// systemUsage reads /proc/stat. The line "cpu" has the sums of all CPUs. The line "cpu0" has the
// values of the first CPU. The columns are user, nice, system, idle, iowait, irq, softirq and
// steal. Further columns have the times of guests, which are already part of user and nice.
func systemUsage() Usage {
	u := Usage{stolenByCPU: map[int]float64{}}
	for line := range strings.Lines(read("proc/stat")) {
		f := strings.Fields(line)
		if len(f) < 9 || !strings.HasPrefix(f[0], "cpu") {
			continue
		}
		stolen := number(f[8]) / hertz
		id, err := strconv.Atoi(strings.TrimPrefix(f[0], "cpu"))
		if err == nil { // of one CPU
			u.CPUs++
			u.stolenByCPU[id] = stolen
			continue
		}
		u.Known = true
		u.Stolen = stolen
		for _, i := range []int{1, 2, 3, 6, 7} { // user, nice, system, irq, softirq
			u.Busy += number(f[i]) / hertz
		}
	}
	u.Throttled = throttled()
	return u
}

// throttled returns for how many seconds CPU quotas kept processes from running. It counts the
// quotas of this process's cgroup and of the cgroups above it. Version 2 of cgroups counts
// microseconds, version 1 nanoseconds.
func throttled() float64 {
	var groupV2, groupV1 string
	for line := range strings.Lines(read("proc/self/cgroup")) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, group
		switch {
		case len(f) < 3:
		case f[1] == "": // version 2 names no controllers
			groupV2 = f[2]
		case slices.Contains(strings.Split(f[1], ","), "cpu"):
			groupV1 = f[2]
		}
	}
	seconds, ok := throttledIn("sys/fs/cgroup", groupV2, "throttled_usec", 1e6)
	if !ok {
		seconds, _ = throttledIn("sys/fs/cgroup/cpu", groupV1, "throttled_time", 1e9)
	}
	return seconds
}

// throttledIn adds up the values of a key in the file cpu.stat of a cgroup and of each cgroup above
// it, up to the folder top. In a container the cgroup's own folder is often missing, and the folder
// top describes the cgroup.
//
// The parameter perSecond is how many units of the value make a second. The result ok is false if
// none of the files has the key.
func throttledIn(top, group, key string, perSecond float64) (seconds float64, ok bool) {
	for folder := path.Join("/", group); ; folder = path.Dir(folder) {
		for line := range strings.Lines(read(path.Join(top, folder, "cpu.stat"))) {
			f := strings.Fields(line)
			if len(f) == 2 && f[0] == key {
				seconds += number(f[1]) / perSecond
				ok = true
			}
		}
		if folder == "/" {
			return seconds, ok
		}
	}
}

// read returns the text of a file, or "" if the file cannot be read. An old kernel or a container
// lacks some of the files.
func read(name string) string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// number returns the number that a text states. It returns 0 for any other text, such as "max" in
// cpu.max.
func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return n
}
