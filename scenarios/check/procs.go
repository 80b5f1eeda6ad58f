package check

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// processName returns the name of a process; "" if it has ended, or if the system has no /proc.
func processName(pid int) string {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(name))
}

// A holder is a living process that has a file open.
type holder struct {
	pid  int
	name string
	file string
}

// holdersOf returns which processes have which of the files open; none if the system has no /proc.
func holdersOf(pids []int, files ...string) []holder {
	var all []holder
	for _, pid := range pids {
		open := openFiles(pid)
		for _, file := range files {
			if slices.Contains(open, file) {
				all = append(all, holder{pid, processName(pid), file})
			}
		}
	}
	return all
}

// openFiles returns what the descriptors of a process refer to; nil if the process has ended, or if
// the system has no /proc.
func openFiles(pid int) []string {
	folder := fmt.Sprintf("/proc/%d/fd/", pid)
	entries, _ := os.ReadDir(folder)
	var files []string
	for _, e := range entries {
		file, err := os.Readlink(folder + e.Name())
		if err == nil { // else it was closed meanwhile
			files = append(files, file)
		}
	}
	return files
}
