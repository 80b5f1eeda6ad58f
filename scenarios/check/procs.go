package check

import (
	"fmt"
	"os"
	"strings"
)

// processName returns the name of a living process; "" of one that has ended, and where the system
// has no /proc.
func processName(pid int) string {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(name))
}

// openFiles returns what the descriptors of a process refer to. It fails for one that has ended,
// and where the system has no /proc.
func openFiles(pid int) ([]string, error) {
	folder := fmt.Sprintf("/proc/%d/fd/", pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		file, err := os.Readlink(folder + e.Name())
		if err == nil { // else it was closed meanwhile
			files = append(files, file)
		}
	}
	return files, nil
}
