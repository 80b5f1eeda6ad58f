package placement

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Read finds the CPUs that this process may use, and from sysfs how they lie
// to each other. Where sysfs is silent (some containers), each CPU counts as a
// core of its own under one cache.
func Read() (Topology, error) {
	ids, err := allowed()
	if err != nil {
		return Topology{}, err
	}
	var t Topology
	for _, id := range ids {
		t.CPUs = append(t.CPUs, read("/sys/devices/system/cpu", id))
	}
	return t, nil
}

func allowed() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("read the allowed CPUs: %w", err)
	}
	var ids []int
	for id := range len(set) * 64 {
		if set.IsSet(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func read(sysfs string, id int) CPU {
	dir := filepath.Join(sysfs, fmt.Sprintf("cpu%d", id))
	core := line(dir, "topology/thread_siblings_list")
	if core == "" {
		core = strconv.Itoa(id)
	}
	return CPU{ID: id, Core: core, Cache: lastCache(dir), Package: line(dir, "topology/physical_package_id")}
}

// lastCache names the last-level cache of a CPU by the CPUs that share it.
func lastCache(dir string) string {
	shared, top := "", 0
	indexes, _ := filepath.Glob(filepath.Join(dir, "cache/index*")) // the pattern is constant, and no match means no cache is told
	for _, index := range indexes {
		level, err := strconv.Atoi(line(index, "level"))
		if err == nil && level > top {
			shared, top = line(index, "shared_cpu_list"), level
		}
	}
	return shared
}

func line(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
