package machine

import (
	"io/fs"
	"os"
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

// throttled returns how long this process's group was kept from running by its quota: cgroup 2
// counts microseconds, cgroup 1 nanoseconds.
func throttled() (seconds float64, ok bool) {
	for _, source := range []struct {
		file, key string
		unit      float64
	}{
		{"sys/fs/cgroup/cpu.stat", "throttled_usec", 1e6},
		{"sys/fs/cgroup/cpu/cpu.stat", "throttled_time", 1e9},
	} {
		for line := range strings.Lines(read(source.file)) {
			if f := strings.Fields(line); len(f) == 2 && f[0] == source.key {
				return number(f[1]) / source.unit, true
			}
		}
	}
	return 0, false
}

// read returns a file's text, "" if there is no such file, as on an old kernel or in a container.
func read(name string) string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// number returns the number that a text is, 0 if it is none, such as "max" in cpu.max.
func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return n
}
