package syspipe

import (
	"fmt"
	"runtime"
	"slices"
)

// A Transfer is how bytes get into a pipe and out of it.
type Transfer string

const (
	// Copy is write and read: the kernel copies every byte twice.
	Copy Transfer = "copy"
	// Vmsplice lends the writer's pages to the pipe ([End.Vmsplice]); the reader copies them out of
	// it.
	Vmsplice Transfer = "vmsplice"
	// Splice lends the pages too, and the reading end moves them to /dev/null ([End.Discard]). No
	// byte is copied and nobody reads one, so this is what the pipe itself can do and not what any
	// program can.
	Splice Transfer = "splice"
)

// Transfers returns every transfer that pipebench knows, always in the same order.
func Transfers() []Transfer { return []Transfer{Copy, Vmsplice, Splice} }

// ParseTransfer returns the transfer of that name. It need not be one that this system supports.
func ParseTransfer(name string) (Transfer, error) {
	if t := Transfer(name); slices.Contains(Transfers(), t) {
		return t, nil
	}
	return "", fmt.Errorf("unknown transfer %q (known: %s)", name, joinNames(Transfers()))
}

// Supported returns nil where this system has the transfer, else an error that wraps
// [errors.ErrUnsupported] and names the system.
func (t Transfer) Supported() error {
	if t == Copy || runtime.GOOS == "linux" {
		return nil
	}
	return unsupported("transfer " + string(t))
}

// Vmsplice writes like Write, but lends the pages of p to the pipe instead of copying them: p must
// not change until the reader has taken them. With two buffers in turn, each of at least the pipe's
// capacity, that is so. Linux only, for pipes and FIFOs, with any io but [Poller]; elsewhere the
// error wraps [errors.ErrUnsupported].
func (e *End) Vmsplice(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	e.out.begin()
	defer e.out.end()
	if e.closed.Load() {
		return 0, e.closedError("vmsplice to")
	}
	return e.vmsplice(p)
}

// Discard waits until there are bytes, takes at most n of them out of the pipe and drops them
// unread; it returns how many, and [io.EOF] where Read would. It supports what Vmsplice does.
func (e *End) Discard(n int) (int, error) {
	if n <= 0 {
		return 0, nil
	}
	e.in.begin()
	defer e.in.end()
	if e.closed.Load() {
		return 0, e.closedError("splice from")
	}
	return e.discard(n)
}
