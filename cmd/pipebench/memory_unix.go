//go:build unix

package main

import (
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"
)

// leastAddresses is the address space that a command needs, in bytes. The Go runtime reserves most
// of it for its tables and for the stacks of threads, and touches little. With less, the runtime
// ends the process in the middle of its work, with exit status 2, which is also the status of a
// usage error. Around 1.2 GiB (1.3 with cgo), and below half of leastAddresses, the runtime ends
// the process before main, so that no code of ours can report it.
const leastAddresses = 1500 << 20

// enoughMemory returns an error if the address space is limited so much that the Go runtime would
// fail.
func enoughMemory() error {
	if bits.UintSize == 32 {
		return nil // 32-bit systems have less, and the runtime reserves less
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil {
		return nil // an unknown limit counts as none
	}
	if uint64(limit.Cur) >= leastAddresses {
		return nil
	}
	return fmt.Errorf(
		"its address space is limited to %d MiB: raise the limit, as with ulimit -v %d",
		uint64(limit.Cur)>>20, leastAddresses>>10)
}
