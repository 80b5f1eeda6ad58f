//go:build unix

package main

import (
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"
)

// leastAddresses is the address space that a command needs, in bytes. The Go runtime reserves most
// of it for its tables and for the stacks of threads, and touches little. With less it ends the
// process in the middle of something, by exit status 2, which is that of a wrong usage. Around
// 1.2 GiB (with cgo 1.3), and below half of leastAddresses, it ends in its own start, before main:
// nothing of ours can tell that apart.
const leastAddresses = 1500 << 20

// enoughMemory reports a limit on the address space that the Go runtime would fail by.
func enoughMemory() error {
	if bits.UintSize == 32 {
		return nil // where there is less, and the runtime reserves less
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil {
		return nil // what is not known is no limit
	}
	if uint64(limit.Cur) >= leastAddresses {
		return nil
	}
	return fmt.Errorf(
		"its address space is limited to %d MiB: raise the limit, as with ulimit -v %d",
		uint64(limit.Cur)>>20, leastAddresses>>10)
}
