//go:build !linux

package bench

import "time"

// quiesce leaves the runtime alone for a moment before the clock starts, so that
// the threads that stopping the world woke are asleep again.
func quiesce() { time.Sleep(2 * time.Millisecond) }
