//go:build linux && !race

package syspipe

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A inCallFlag says that a call is under way. Each call sets and clears it, and only a Close ever
// looks, so Close bears the cost: the flag is a plain store, and Close makes all threads of the
// process pass a memory barrier before it looks. Two atomic stores a call would cost 38 ns of the
// 300 that a 64-byte write and its read take.
type inCallFlag struct{ on uint32 }

func (m *inCallFlag) begin()     { m.on = 1 }
func (m *inCallFlag) end()       { m.on = 0 }
func (m *inCallFlag) busy() bool { return atomic.LoadUint32(&m.on) != 0 }

const (
	membarrierPrivate         = 1 << 3 // MEMBARRIER_CMD_PRIVATE_EXPEDITED of linux/membarrier.h
	membarrierRegisterPrivate = 1 << 4 // MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED
)

// registered announces the process to membarrier(2). That takes some 15 ms, once.
var registered = sync.OnceValue(func() bool {
	_, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, membarrierRegisterPrivate, 0, 0)
	return errno == 0
})

var prepareOnce sync.Once

// prepareFlags spares the first Close the wait.
func prepareFlags() { prepareOnce.Do(func() { go registered() }) }

// awaitFlags returns when each thread's stores up to now can be seen here.
func awaitFlags() {
	if registered() {
		if _, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, membarrierPrivate, 0, 0); errno == 0 {
			return
		}
	}
	// A kernel before 4.14, or a sandbox. No processor holds a store back for this long.
	time.Sleep(time.Millisecond)
}
