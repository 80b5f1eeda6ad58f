//go:build !linux

package bench

import "time"

// minimiseTimerSlack is for Linux, whose sleeps have a slack to choose.
func minimiseTimerSlack() {}

func (c *sharedClock) sleepUntil(moment int64) { time.Sleep(time.Duration(moment - c.now())) }
