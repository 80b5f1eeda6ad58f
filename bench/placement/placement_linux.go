package placement

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PinThread binds the calling thread to a CPU. For [Any] it does nothing. The caller must have
// locked its goroutine to the thread.
func PinThread(cpu int) error { return pin(0, cpu) } // 0: the calling thread

// PinProcess binds all threads of this process to a CPU, even those that start later. For [Any] it
// does nothing.
func PinProcess(cpu int) error {
	if cpu == Any {
		return nil
	}
	bound := map[string]bool{}
	for { // until no thread is new: a thread may have started others before it was bound
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("list this process's threads: %w", err)
		}
		known := len(bound)
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil || bound[thread.Name()] {
				continue
			}
			if err := pin(id, cpu); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
			bound[thread.Name()] = true
		}
		if len(bound) == known {
			return nil
		}
	}
}

// Current returns the CPU that the calling thread runs on.
func Current() (cpu int, ok bool) {
	var id uint32
	_, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&id)), 0, 0)
	if errno != 0 {
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

// Read returns the CPUs that this process may use. Call it before any thread is bound to a CPU:
// later calls return the first result.
var Read = sync.OnceValues(readTopology)

func readTopology() (t Topology, err error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return t, fmt.Errorf("read the allowed CPUs: %w", err)
	}
	for id := range len(allowed) * 64 { // 64: no word of the set has more bits
		if allowed.IsSet(id) {
			dir := fmt.Sprintf("/sys/devices/system/cpu/cpu%d", id)
			// In some containers sysfs does not tell. Then each CPU counts as a core of its own,
			// and all CPUs count as sharing one cache.
			core := cmp.Or(line(dir, "topology/thread_siblings_list"), strconv.Itoa(id))
			t.CPUs = append(t.CPUs, CPU{ID: id, Core: core, Cache: lastCache(dir)})
		}
	}
	return t, nil
}

// lastCache returns the list of the CPUs that share the last-level cache of the CPU whose folder is
// dir. It returns "" if the system does not tell.
func lastCache(dir string) string {
	name := ""
	highest := 0
	caches, _ := filepath.Glob(filepath.Join(dir, "cache/index*")) // the pattern is valid
	for _, cache := range caches {
		level, err := strconv.Atoi(line(cache, "level"))
		if err == nil && level > highest {
			highest = level
			name = line(cache, "shared_cpu_list")
		}
	}
	return name
}

// line returns the text of a file with one line, or "" if the file cannot be read.
func line(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
