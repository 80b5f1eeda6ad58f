package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// holders returns the names of living processes, and of those among them that have the file of that
// path open.
func holders(pids []int, path string) (names, holding []string) {
	for _, pid := range pids {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err != nil {
			continue // it has ended
		}
		names = append(names, strings.TrimSpace(string(name)))
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, link := range links {
			if to, _ := os.Readlink(link); to == path {
				holding = append(holding, names[len(names)-1])
				break
			}
		}
	}
	return names, holding
}
