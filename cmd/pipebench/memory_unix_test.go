//go:build unix

package main

import (
	"math/bits"
	"strings"
	"testing"
)

// TestTooLittleAddressSpaceIsNamed limits no process: one that may use so little ends at a random
// place, often before main begins.
func TestTooLittleAddressSpaceIsNamed(t *testing.T) {
	if err := enoughAddresses(neededAddresses); err != nil {
		t.Errorf("the address space that is needed: %v", err)
	}
	err := enoughAddresses(1400000 << 10)
	if bits.UintSize == 32 {
		if err != nil {
			t.Errorf("a 32-bit runtime: %v", err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), "limited to 1367 MiB") ||
		!strings.Contains(err.Error(), "ulimit -v 1536000") {
		t.Errorf("too little address space: %v", err)
	}
}
