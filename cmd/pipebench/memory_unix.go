//go:build unix

package main

import (
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"
)

// neededAddresses is the address space that a command needs, in bytes. With less, the Go runtime
// may end the process at any time, with exit status 2.
const neededAddresses = 1500 << 20

// enoughMemory returns an error if the limit on the address space is below neededAddresses.
func enoughMemory() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil {
		return nil // if the limit is unknown, assume none
	}
	return enoughAddresses(uint64(limit.Cur))
}

// enoughAddresses returns an error if limit, in bytes, is below neededAddresses.
func enoughAddresses(limit uint64) error {
	if bits.UintSize == 32 || limit >= neededAddresses {
		return nil // a 32-bit runtime reserves less
	}
	return fmt.Errorf(
		"its address space is limited to %d MiB: raise the limit, as with ulimit -v %d",
		limit>>20, neededAddresses>>10)
}
