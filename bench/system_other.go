//go:build !linux

package bench

import (
	"os"
	"time"
)

// minimiseTimerSlack does nothing here: it is for Linux, where a thread can choose the slack of its
// sleeps.
func minimiseTimerSlack() {}

func (c *clock) sleepUntil(moment int64) { time.Sleep(time.Duration(moment - c.now())) }

// calmWatchdog does nothing here: it is for Linux, where a worker hides from the Go scheduler that
// it waits.
func calmWatchdog() {}

// jobs is standard input.
var jobs = os.Stdin

// quiesce leaves the runtime alone for a moment before the warm-up, so that the threads that
// stopping the world woke are asleep again.
func quiesce() { time.Sleep(time.Millisecond) }

// ownDescriptors does nothing here: it is for Linux, where a thread can leave the table that
// threads share.
func ownDescriptors() {}

// runQueue is empty here: it is for Linux, which tells how long a thread waited for a CPU.
type runQueue struct{}

func openRunQueue() (q runQueue) { return q }

func (runQueue) waited() int64 { return -1 }
