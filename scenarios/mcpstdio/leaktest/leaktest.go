// Package leaktest fails tests that leave goroutines, descriptors or children behind.
//
//	func TestServer(t *testing.T) {
//		leaktest.Check(t)
//		...
//	}
//
// Tests that run in parallel see each other's; call Check in none of them.
package leaktest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// patience is how long what ends by itself is waited for.
const patience = 20 * time.Second

// Check fails t unless what the test and its cleanups started is gone when all of them are done: so it is to be called first.
// A second call in one test does nothing.
func Check(t testing.TB) {
	t.Helper()
	if checked[t.Name()] {
		return
	}
	checked[t.Name()] = true
	startPoller()
	files := descriptors()
	t.Cleanup(func() {
		delete(checked, t.Name())
		var left string
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); runtime.Gosched() {
			if left = leftovers(files); left == "" {
				return
			}
		}
		t.Error("left behind: " + left)
	})
}

// checked are the tests that are being checked. They run one after another.
var checked = make(map[string]bool)

// startPoller has the runtime open the descriptors of its network poller, which it keeps.
func startPoller() {
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
}

func leftovers(files int) string {
	if list := goroutines(); len(list) > 0 {
		return fmt.Sprintf("%d goroutines:\n%s", len(list), strings.Join(list, "\n\n"))
	}
	if n := descriptors(); n > files {
		return fmt.Sprintf("%d descriptors, %d before", n, files)
	}
	if list := children(); len(list) > 0 {
		return fmt.Sprintf("children %v", list)
	}
	return ""
}

// goroutines returns the stacks of this project's goroutines and of those it had started, but for the tests' own.
// runtime.NumGoroutine would count the runtime's, which come and go.
func goroutines() []string {
	buf := make([]byte, 1<<20)
	var list []string
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "pipebench/") && !strings.Contains(stack, "testing.tRunner(") && !strings.Contains(stack, "testing.(*M).Run") {
			list = append(list, stack)
		}
	}
	return list
}

// descriptors counts what this process has open; 0 where that cannot be known.
func descriptors() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

// children returns the process ids of this process's children, zombies included; none where that cannot be known.
func children() []string {
	var list []string
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		text, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		list = append(list, strings.Fields(string(text))...)
	}
	return list
}
