// Package procfs reads what Linux tells about processes in the files of /proc. It keeps no cache.
// If a process is gone or may not be read, a function returns an error or leaves the process out.
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

// Available says whether this system has the files of /proc that this package reads.
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

// PIDs returns the ID of every process that this process can see.
func PIDs() ([]int, error) { return numbers(Root) }

// Threads returns the IDs of the threads of a process.
func Threads(pid int) ([]int, error) { return numbers(Path(pid, "task")) }

// Descriptors returns the numbers of the descriptors that a process has open.
func Descriptors(pid int) ([]int, error) { return numbers(Path(pid, "fd")) }

// numbers returns those names in a folder that are numbers.
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

// Children returns the children of a process, including those that have ended and were not waited
// for.
func Children(pid int) []int {
	var list []int
	threads, _ := Threads(pid)
	for _, tid := range threads {
		text, _ := Text(pid, "task", strconv.Itoa(tid), "children")
		for _, name := range strings.Fields(text) {
			list = append(list, number(name))
		}
	}
	return list
}

// Tree returns the IDs of a process and its descendants, each one after its parent.
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
	// State is 'R' if the process runs, 'S' if it sleeps, 'D' if it waits for a disk, 'T' or 't' if
	// it is stopped, 'Z' or 'X' if it has ended.
	State   byte
	Parent  int
	Flags   uint64 // the kernel's PF_ constants
	Threads int
	// ChildTicks is the processor time of the children that were waited for, in ticks of 10 ms.
	ChildTicks int64
}

// kernelThread is PF_KTHREAD of linux/sched.h.
const kernelThread = 0x00200000

// OfKernel reports whether s is about a thread of the kernel, which makes no system calls.
func (s Stat) OfKernel() bool { return s.Flags&kernelThread != 0 }

// Ended reports whether the whole process has ended. If only its first thread has ended, the State
// is 'Z' too, but Threads still counts the others.
func (s Stat) Ended() bool { return s.State == 'Z' && s.Threads < 2 || s.State == 'X' }

// ReadStat reads the state of a process.
func ReadStat(pid int) (Stat, error) { return parseStat(Text(pid, "stat")) }

// ReadThread reads the state of a thread.
func ReadThread(pid, tid int) (Stat, error) {
	return parseStat(Text(pid, "task", strconv.Itoa(tid), "stat"))
}

// parseStat parses the text of a stat file, such as "1 (a command) S 0 …". If err is not nil, it
// only returns err. The command may contain any characters, even parentheses.
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

// number returns the number in a field, or 0 if the field is no number.
func number(field string) int {
	n, _ := strconv.Atoi(field)
	return n
}

// Field returns the value in the line "name:\tvalue" of a text, or "" if there is no such line.
func Field(text, name string) string {
	_, rest, _ := strings.Cut("\n"+text, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(value)
}

// Flags returns the flags of open(2) that a descriptor of a process has.
func Flags(pid, fd int) (uint64, error) {
	info, err := Text(pid, "fdinfo", strconv.Itoa(fd))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(Field(info, "flags"), 8, 64)
}

// IO counts the reads and writes of a process, and of the children for which it waited.
type IO struct {
	Reads, Writes           int64 // system calls
	ReadBytes, WrittenBytes int64
}

// ReadIO reads what a process has read and written since its start.
func ReadIO(pid int) (io IO, err error) {
	text, err := Text(pid, "io")
	if err != nil {
		return io, err // a kernel without task accounting, a sandbox, or another user's process
	}
	_, err = fmt.Sscanf(text, "rchar: %d\nwchar: %d\nsyscr: %d\nsyscw: %d",
		&io.ReadBytes, &io.WrittenBytes, &io.Reads, &io.Writes)
	return io, err
}

// StatusBytes returns a size of /proc/PID/status, such as VmHWM, in bytes.
func StatusBytes(pid int, name string) (int64, bool) {
	text, err := Text(pid, "status")
	if err != nil {
		return 0, false
	}
	kib, err := strconv.ParseInt(strings.TrimSuffix(Field(text, name), " kB"), 10, 64)
	return kib << 10, err == nil
}

// List returns the texts in a file about a process: "environ" or "cmdline". While the process is
// being started, it returns none.
func List(pid int, name string) ([]string, error) {
	text, err := Text(pid, name)
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(text, "\x00"), "\x00"), nil
}
