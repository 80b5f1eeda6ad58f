//go:build unix

package machine

import "golang.org/x/sys/unix"

// own returns the CPU time of this process and of the children it has waited for, and theirs, in
// seconds.
func own() float64 {
	var seconds float64
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var r unix.Rusage
		if err := unix.Getrusage(who, &r); err == nil {
			seconds += float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
		}
	}
	return seconds
}
