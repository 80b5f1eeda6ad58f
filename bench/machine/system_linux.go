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

// hertz is how many time units of /proc/stat make a second (USER_HZ), whatever the kernel uses
// internally.
const hertz = 100

// systemUsage reads /proc/stat, where the line "cpu" has the sums of all CPUs. The columns are
// user, nice, system, idle, iowait, irq, softirq and steal.
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

// throttled returns for how many seconds CPU quotas kept processes of this cgroup, and of the
// cgroups above it, from running.
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

// throttledIn adds up the values of key in the files cpu.stat of a cgroup and of each cgroup above
// it, up to the folder top. The parameter perSecond is how many units of these values make a
// second.
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

// read returns the text of a file, or "" if it cannot be read, as on an old kernel or in a
// container.
func read(name string) string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// number returns the number that a text consists of. For any other text, such as "max" in cpu.max,
// it returns 0.
func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return n
}
