package syspipe

import (
	"math/bits"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Go's own clock goes in steps of 0.5 to 15.6 ms on Windows; the performance counter, which x/sys
// does not name, is what times less than that.
var (
	kernel32     = windows.NewLazySystemDLL("kernel32.dll")
	queryCounter = kernel32.NewProc("QueryPerformanceCounter")
	counterRate  = query(kernel32.NewProc("QueryPerformanceFrequency")) // a second's ticks
)

// Now returns the time since a moment that is the same for all processes, by the finest clock of
// the system that never goes back.
func Now() time.Duration {
	hi, lo := bits.Mul64(query(queryCounter), uint64(time.Second))
	ns, _ := bits.Div64(hi, lo, counterRate)
	return time.Duration(ns)
}

// query calls what fills in a number, and fails on no Windows that Go runs on. It allocates
// nothing, as LazyProc.Call would.
func query(call *windows.LazyProc) (n uint64) {
	syscall.SyscallN(call.Addr(), uintptr(unsafe.Pointer(&n)))
	return n
}
