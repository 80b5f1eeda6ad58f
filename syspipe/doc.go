// Package syspipe opens the byte pipes of an operating system and tells the truth about them: their
// real capacity, the bytes that wait in them, how each call ended, and whether the end had to wait.
//
//	w, r, err := syspipe.Open(syspipe.Anonymous, 64<<10)
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//	w.SetIO(syspipe.Poller)
//	w.Write([]byte("hello"))
//	w.Close()
//	fmt.Println(w.Counters().Calls, "call")
//
// A pipe has two ends, each an owned descriptor: it is closed once, by its owner, and a use after
// that is an error that wraps [os.ErrClosed]. How an end waits for the kernel is its [IO]. An end
// can be handed to a child process with [End.Pass] and taken up there with [Inherited].
//
// # Who may call concurrently
//
// One goroutine at a time may read from an end, and one may write to it; both at once is fine where
// the kind has two directions ([SocketPair]). Close may be called by anyone at any time, and ends a
// call that is under way. Counters and the rest belong to the goroutine that reads or writes.
//
// # Blocking ends
//
// An end with [Blocking] makes raw system calls that the Go scheduler does not see, which is what
// lets Go reach the speed of C. The price: while such a call waits it holds a scheduler slot and
// keeps the garbage collector from stopping the world. Use it in a process made for the purpose:
// GOMAXPROCS of at least the blocking ends plus two, [runtime.LockOSThread], and the collector off
// while the ends are in use. Everything else in this package is safe in any program.
//
// # Not promised
//
// Nothing is said about the order in which two writers of one pipe get through, and a message is
// not kept whole: that is a framing's work.
package syspipe
