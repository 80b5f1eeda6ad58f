//go:build unix

package main

import (
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"
)

// neededAddresses is the address space that a command needs, in bytes. The Go runtime reserves most
// of it for its tables and for the stacks of threads, and touches little of it.
//
// With a lower limit, the runtime ends the process in the middle of its work, with exit status 2,
// as after a usage error. With some limits (around 1.2 GiB, and below half of neededAddresses),
// this happens before main, and nothing can report it.
const neededAddresses = 1500 << 20

// enoughMemory returns an error if the limit on the address space is below neededAddresses.
func enoughMemory() error {
	if bits.UintSize == 32 {
		return nil // a 32-bit runtime reserves less
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil {
		return nil // if the limit is unknown, assume none
	}
	if uint64(limit.Cur) >= neededAddresses {
		return nil
	}
	return fmt.Errorf(
		"its address space is limited to %d MiB: raise the limit, as with ulimit -v %d",
		uint64(limit.Cur)>>20, neededAddresses>>10)
}
