//go:build unix

package tap

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe"
)

// A descriptor is read and written by system calls that wait in the kernel. Go's poller would cost
// each message two thread switches, and the mode of an inherited descriptor is not ours to change:
// others may share it. One that is non-blocking is waited for by poll(2).
//
// The file keeps the number from being used for another; it is closed once, by whoever of both
// sides ends first.
type descriptor struct {
	file *os.File
	fd   int
}

func open(f *os.File) (stream, error) {
	d := &descriptor{file: f}
	return d, control(f, func(fd int) { d.fd = fd })
}

// control calls do with the number of a file's descriptor.
func control(f *os.File, do func(fd int)) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { do(int(fd)) })
}

func (d *descriptor) read(p []byte) (int, error) {
	for {
		n, err := syscall.Read(d.fd, p)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			if err := d.wait(unix.POLLIN); err != nil {
				return 0, err
			}
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (d *descriptor) writeAll(p []byte) error {
	for len(p) > 0 {
		n, err := syscall.Write(d.fd, p)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			if err := d.wait(unix.POLLOUT); err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			p = p[n:]
		}
	}
	return nil
}

func (d *descriptor) wait(events int16) error {
	fds := []unix.PollFd{{Fd: int32(d.fd), Events: events}}
	for {
		if _, err := unix.Poll(fds, -1); err != unix.EINTR {
			return err
		}
	}
}

func (d *descriptor) awaitReader() bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(d.fd)}}, 1000) // of no events, so of errors alone
	return n == 0 || err == unix.EINTR
}

func (d *descriptor) close() { d.file.Close() }

// relayCapacity is what a pipe that tap makes holds, in bytes, if the system allows it: the relay
// then wakes its neighbours less often.
const relayCapacity = 1 << 20

// pipeLike makes a pipe of the same kind as the stream that it goes on from, and at least of its
// capacity: a server behaves differently on a socket pair than on a pipe. What is neither, such as
// a terminal, goes on by a pipe. Both ends block.
func pipeLike(model *os.File) (w, r *os.File, err error) {
	like, _ := syspipe.Describe(model) // nothing is known of what cannot be described
	kind := syspipe.Anonymous
	if like.Kind == "socket" {
		kind = syspipe.SocketPair
	}
	o := syspipe.Options{Capacity: like.Capacity, IO: syspipe.Blocking}
	we, re, err := syspipe.Open(kind, o)
	var refused *syspipe.CapacityError
	if errors.As(err, &refused) {
		we, re, err = syspipe.Open(kind, syspipe.Options{IO: syspipe.Blocking})
	}
	if err != nil {
		return nil, nil, err
	}
	defer we.Close()
	defer re.Close()
	we.Grow(relayCapacity) // a smaller one, and a socket pair, relay too
	w, err = we.File()
	if err != nil {
		return nil, nil, err
	}
	r, err = re.File()
	if err != nil {
		w.Close()
		return nil, nil, err
	}
	return w, r, nil
}

// mirrorMode makes a server's end as non-blocking as the client's stream is: whether a write that
// does not fit fails or waits is the server's to deal with, as without a tap.
func mirrorMode(model, end *os.File) {
	if like, err := syspipe.Describe(model); err == nil && like.NonBlocking {
		control(end, func(fd int) { unix.SetNonblock(fd, true) })
	}
}

// endingSignals are those of forwardedSignals by which somebody wants a process to end.
var endingSignals = []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM}

// forwardedSignals are the signals that a client, a terminal or a supervisor sends to a server.
var forwardedSignals = []os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM,
	unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGCONT,
}

// resetHandler takes Go's handler from a signal that os/signal does not let go of, such as SIGSEGV.
// x/sys has no sigaction for macOS and FreeBSD: of such signals the exit status tells there.
var resetHandler = func(int) {}

// dieBySignal ends this process by a signal. There is a core file of the server already, if one is
// wanted.
func dieBySignal(number int) {
	s := syscall.Signal(number)
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	signal.Reset(s)
	resetHandler(number)
	unix.Kill(unix.Getpid(), s)
	// It comes in its own time; should it not come at all, the exit status has to tell.
	time.Sleep(time.Second)
}
