// Package syspipe opens the byte pipes of an operating system and tells the truth about them: their
// real capacity, the bytes that wait in them, how each call ended, and whether the end had to wait.
//
//	w, r, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{Capacity: 64 << 10})
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//	w.Write([]byte("hello"))
//	w.Close()
//	fmt.Println(w.Counters().Calls, "call")
//
// A pipe has two ends. Each end owns its descriptor. Close an end once: any use after that returns
// an error that wraps [os.ErrClosed], and so does any use of the zero [End]. The [IO] of an end
// says how it waits for the kernel. [End.Pass] hands an end to a child process, and [Inherited]
// takes it up there.
//
// # Who may call concurrently
//
// One goroutine at a time may read from an end, and one may write to it. Both may do so at once if
// the kind has two directions ([SocketPair]). Any goroutine may call Close at any time. Close ends
// a read or write that is under way. All other methods are for the goroutine that reads or writes.
//
// # Blocking ends
//
// With [Blocking], an end makes raw system calls that the Go scheduler does not see. This lets Go
// reach the speed of C, at a price:
//   - While such a call waits, it holds a slot of the scheduler and keeps the garbage collector
//     from stopping the world.
//   - The scheduler believes that the thread of such a call will look at Go's poller soon. So a
//     goroutine that waits in the poller and is locked to its thread is woken as much as 10 ms
//     late, and sometimes only after a minute (seen with Go 1.26).
//
// So use Blocking only in a process made for the purpose. There, set GOMAXPROCS to at least the
// number of blocking ends plus two, call [runtime.LockOSThread], use no end with [Poller], and turn
// the garbage collector off while the ends are in use. Everything else in this package is safe in
// any program.
//
// # Not promised
//
// If two writers share a pipe, their writes pass in any order. A reader gets bytes: nothing says
// where one message ends and the next begins.
package syspipe
