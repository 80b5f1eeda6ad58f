package tap

import "runtime"

// sessionThreads is how many threads a session needs at most: two directions and the wait for the server, all of them in the kernel most of the time,
// the recording, signals, and one to spare.
const sessionThreads = 6

// raiseThreads lets Go run at least n threads at a time, until restore is called. A thread in a system call keeps its share of the scheduler, and with as
// many shares as CPUs (on one CPU: a single one) another that comes out of the kernel waits until it is taken from there: on one CPU that made
// a round trip of 1 KiB 16 µs instead of 8.
func raiseThreads(n int) (restore func()) {
	before := runtime.GOMAXPROCS(0)
	if before >= n {
		return func() {}
	}
	runtime.GOMAXPROCS(n)
	return func() { runtime.GOMAXPROCS(before) }
}
