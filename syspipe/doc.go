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
// Any use of an end after its Close, even a second Close, returns an error that wraps
// [os.ErrClosed].
//
// # Who may call concurrently
//
// One goroutine at a time may read from an end, and one may write to it. Any goroutine may call
// Close, which ends a read or write that is under way. All other methods are for the goroutine that
// reads or writes.
//
// # Blocking ends
//
// On Linux and FreeBSD, an end with [Blocking] makes raw system calls that the Go scheduler does
// not see. This reaches the speed of C. But while such a call waits, it keeps the garbage collector
// from stopping the world, and can delay goroutines that wait in Go's poller.
//
// So use Blocking only in a process made for the purpose. There, set GOMAXPROCS to at least the
// number of blocking ends plus two, call [runtime.LockOSThread], use no end with [Poller], and turn
// the garbage collector off while the ends are in use. None of this is needed for an end that only
// a child uses, see [End.File].
package syspipe
