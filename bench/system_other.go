//go:build !linux

package bench

import (
	"os"
	"time"
)

// minimiseTimerSlack does nothing here: only Linux lets a thread choose how late its sleeps may
// end.
func minimiseTimerSlack() {}

func (c *clock) sleepUntil(moment int64) { time.Sleep(time.Duration(moment - c.now())) }

// calmWatchdog does nothing here: only on Linux do workers wait in calls that the Go scheduler does
// not notice.
func calmWatchdog() {}

// jobs is standard input.
var jobs = os.Stdin

// quiesce waits until threads of the Go runtime, woken by reading the heap statistics, sleep again.
func quiesce() { time.Sleep(time.Millisecond) }

// ownDescriptors does nothing here: only Linux lets a thread leave the common descriptor table.
func ownDescriptors() {}

// runQueue is empty here: only Linux tells how long a thread waited for a CPU.
type runQueue struct{}

func openRunQueue() (q runQueue) { return q }

func (runQueue) waited() int64 { return -1 }
