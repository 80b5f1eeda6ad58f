// Package leaktest fails tests that leave goroutines, descriptors, children or temporary files
// behind.
//
//	func TestServer(t *testing.T) {
//		leaktest.Check(t)
//		...
//	}
//
// Do not call Check in tests that run in parallel, because each test would see what the others have
// open.
package leaktest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long Check waits for goroutines and children that are about to end.
const patience = 20 * time.Second

// checked has the names of the tests that are being checked. It has no lock, because the tests run
// one after another.
var checked = make(map[string]bool)

// Check fails t if anything is left when the test and its cleanups are done. Call it first in the
// test. It also gives the test a folder of its own for temporary files, except on Windows.
func Check(t testing.TB) {
	t.Helper()
	if checked[t.Name()] {
		return
	}
	checked[t.Name()] = true
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	// Go's poller opens descriptors when it is first used, and keeps them.
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
	goroutinesBefore := goleak.IgnoreCurrent()
	descriptorsBefore := descriptors()
	childrenBefore := len(children())
	t.Cleanup(func() {
		delete(checked, t.Name())
		var left error
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
			left = goleak.Find(goroutinesBefore) // waits up to half a second itself
			if n := descriptors(); left == nil && n > descriptorsBefore {
				left = fmt.Errorf("%d descriptors, %d before", n, descriptorsBefore)
			}
			if list := children(); left == nil && len(list) > childrenBefore {
				left = fmt.Errorf("children %v, %d before", list, childrenBefore)
			}
			if left == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if left != nil {
			t.Errorf("left behind: %v", left)
		}
		if list, err := os.ReadDir(folder); err != nil || len(list) > 0 {
			t.Errorf("files left behind: %v, %v", list, err)
		}
	})
}

// descriptors counts the open descriptors of this process. It returns 0 on a system that does not
// list them.
func descriptors() int {
	list, _ := os.ReadDir("/dev/fd")
	return len(list)
}

// children returns the IDs of this process's children, also of those that have ended and were not
// waited for. It returns none on a system that does not list them.
func children() []string {
	var list []string
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		text, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		list = append(list, strings.Fields(string(text))...)
	}
	return list
}
