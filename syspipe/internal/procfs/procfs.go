// Package procfs reads what Linux tells about processes in the files of /proc. No function keeps
// what it has read. A process may end at any time: if its file is gone, or may not be read, the
// function returns an error or leaves the process out. Other systems do not have these files.
package procfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Available says whether the system has these files.
const Available = runtime.GOOS == "linux"

// Root is the folder in which the kernel describes processes. Only tests change it.
var Root = "/proc"

// Path returns the path of a file about a process: Path(1, "fd", "0") is "/proc/1/fd/0".
func Path(pid int, rest ...string) string {
	return filepath.Join(Root, strconv.Itoa(pid), filepath.Join(rest...))
}

// Text returns the text of a file about a process.
func Text(pid int, rest ...string) (string, error) {
	if !Available {
		return "", errors.ErrUnsupported
	}
	text, err := os.ReadFile(Path(pid, rest...))
	return string(text), err
}

// PIDs returns every process that can be seen.
func PIDs() ([]int, error) { return numbers(Root) }

// Threads returns the threads of a process.
func Threads(pid int) ([]int, error) { return numbers(Path(pid, "task")) }

// Descriptors returns the descriptors that a process has open.
func Descriptors(pid int) ([]int, error) { return numbers(Path(pid, "fd")) }

// numbers returns the names in a folder that are numbers.
func numbers(folder string) ([]int, error) {
	if !Available {
		return nil, errors.ErrUnsupported
	}
	entries, err := os.ReadDir(folder)
	var list []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, n)
		}
	}
	return list, err
}

// Children returns the children of a process that it has not waited for.
func Children(pid int) []int {
	var list []int
	threads, _ := Threads(pid)
	for _, tid := range threads {
		text, _ := Text(pid, "task", strconv.Itoa(tid), "children")
		for _, name := range strings.Fields(text) {
			if child, err := strconv.Atoi(name); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

// Tree returns a process and its descendants, each after its parent.
func Tree(pid int) []int {
	list := []int{pid}
	for _, child := range Children(pid) {
		list = append(list, Tree(child)...)
	}
	return list
}

// A Stat is what /proc/PID/stat says of a process, or /proc/PID/task/TID/stat of a thread.
type Stat struct {
	Command string
	// State is 'R' if it runs, 'S' if it sleeps, 'D' if it waits for a disk, 'T' or 't' if it is
	// stopped, 'Z' or 'X' if it has ended.
	State   byte
	Parent  int
	Flags   uint64 // the kernel's PF_ constants
	Threads int
	// ChildTicks is the processor time of the children that were waited for, in ticks of 10 ms.
	ChildTicks int64
}

// kernelThread is PF_KTHREAD of linux/sched.h.
const kernelThread = 0x00200000

// OfKernel reports whether s is of a thread of the kernel itself, which makes no system calls.
func (s Stat) OfKernel() bool { return s.Flags&kernelThread != 0 }

// Ended reports whether the process has ended, not just its first thread, which is a 'Z' too.
func (s Stat) Ended() bool { return s.State == 'Z' && s.Threads < 2 || s.State == 'X' }

// ReadStat reads the state of a process.
func ReadStat(pid int) (Stat, error) { return parseStat(Text(pid, "stat")) }

// ReadThread reads the state of a thread.
func ReadThread(pid, tid int) (Stat, error) {
	return parseStat(Text(pid, "task", strconv.Itoa(tid), "stat"))
}

// parseStat reads "1 (a command) S 0 …", fields in the order of proc_pid_stat(5), unless there is
// an error already. The command may contain any characters, also blanks and brackets.
func parseStat(text string, err error) (Stat, error) {
	if err != nil {
		return Stat{}, err
	}
	from := strings.IndexByte(text, '(')
	to := strings.LastIndexByte(text, ')')
	if from < 0 || to < from {
		return Stat{}, fmt.Errorf("not a stat file of /proc: %q", text)
	}
	fields := strings.Fields(text[to+1:]) // from the third field on, which is the state
	if len(fields) < 18 {
		return Stat{}, fmt.Errorf("not a stat file of /proc: %q", text)
	}
	return Stat{
		Command:    text[from+1 : to],
		State:      fields[0][0],
		Parent:     number(fields[1]),
		Flags:      uint64(number(fields[6])),
		ChildTicks: int64(number(fields[13]) + number(fields[14])), // user and system time
		Threads:    number(fields[17]),
	}, nil
}

// number returns 0 for a text that is no number. The kernel writes numbers only.
func number(field string) int {
	n, _ := strconv.Atoi(field)
	return n
}

// Field returns the value in a line "name:\tvalue" of a text like /proc/PID/status; "" for none.
func Field(text, name string) string {
	_, rest, _ := strings.Cut("\n"+text, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(value)
}

// StatusBytes returns a size of /proc/PID/status in bytes; the file has it in KiB, "VmHWM: 9 kB".
func StatusBytes(pid int, name string) (int64, bool) {
	text, err := Text(pid, "status")
	if err != nil {
		return 0, false
	}
	kib, err := strconv.ParseInt(strings.TrimSuffix(Field(text, name), " kB"), 10, 64)
	return kib << 10, err == nil
}

// Environ returns the environment of a process at its start; none if it is just being started.
func Environ(pid int) ([]string, error) {
	text, err := Text(pid, "environ")
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(text, "\x00"), "\x00"), nil
}
