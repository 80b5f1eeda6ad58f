//go:build !linux

package bench

import "time"

// minimiseTimerSlack is for Linux, whose sleeps have a slack to choose.
func minimiseTimerSlack() {}

func (c *clock) sleepUntil(moment int64) { time.Sleep(time.Duration(moment - c.now())) }

// quiesce leaves the runtime alone for a moment before the warm-up, so that the threads that
// stopping the world woke are asleep again.
func quiesce() { time.Sleep(time.Millisecond) }

// ownDescriptors is for Linux, whose threads can part with the table they share.
func ownDescriptors() {}

// runQueue is for Linux, whose threads are told how long they waited for a CPU.
type runQueue struct{}

func openRunQueue() (q runQueue) { return q }

func (runQueue) waited() int64 { return -1 }
