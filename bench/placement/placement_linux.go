package placement

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PinThread binds the calling thread to a CPU. The caller has locked its goroutine to the thread.
func PinThread(cpu int) error { return pin(0, cpu) }

// PinProcess binds every thread of this process to a CPU, and with them those that they start
// later.
func PinProcess(cpu int) error {
	if cpu == Any {
		return nil
	}
	var done []int
	for {
		threads, err := threads()
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(threads, func(id int) bool { return slices.Contains(done, id) })
		if len(fresh) == 0 {
			return nil
		}
		for _, id := range fresh {
			if err := pin(id, cpu); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
		done = append(done, fresh...)
	}
}

// Current returns the CPU that the calling thread runs on.
func Current() (cpu int, ok bool) {
	var id uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&id)), 0, 0); errno != 0 {
		return Any, false
	}
	return int(id), true
}

func pin(thread, cpu int) error {
	if cpu == Any {
		return nil
	}
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(thread, &set); err != nil {
		return fmt.Errorf("pin to CPU %d: %w", cpu, err)
	}
	return nil
}

func threads() ([]int, error) {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, fmt.Errorf("list this process's threads: %w", err)
	}
	var ids []int
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Read finds the CPUs that this process may use, and from sysfs how they lie to each other. Where
// sysfs is silent (some containers), each CPU counts as a core of its own under one cache. It looks
// once in the life of a process, before any is bound.
var Read = sync.OnceValues(readTopology)

func readTopology() (Topology, error) {
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
