//go:build !linux

package bench

import "time"

// sharpenTimers is for Linux, whose sleeps have a slack to choose.
func sharpenTimers() {}

func (c *sharedClock) sleepUntil(moment int64) { time.Sleep(time.Duration(moment - c.now())) }
