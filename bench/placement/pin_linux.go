package placement

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PinThread binds the calling thread to a CPU. The caller has locked its
// goroutine to the thread.
func PinThread(cpu int) error { return pin(0, cpu) }

// PinProcess binds every thread of this process to a CPU, and with them those
// that they start later.
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

// Current is the CPU that the calling thread runs on.
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
