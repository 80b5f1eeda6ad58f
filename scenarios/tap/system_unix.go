//go:build unix

package tap

import (
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe"
)

// A descriptor is a stream whose calls wait in the kernel, because Go's poller would cost each
// message two thread switches. If the file is non-blocking, it stays so, because other processes
// may share it.
type descriptor struct {
	file *os.File // kept open, so that the system does not give fd to another file
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

func (d *descriptor) readerStays() bool {
	// Even without events, poll reports errors, such as that the reader has left.
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(d.fd)}}, 1000 /* ms */)
	return n == 0 || err == unix.EINTR
}

func (d *descriptor) close() { d.file.Close() }

// relayCapacity is the capacity, in bytes, of the pipes between the recorder and the recorded
// server, if the system allows it. With less room, the processes at both ends are woken more often.
const relayCapacity = 1 << 20

// pipeLike makes a socket pair if the file model is a socket, and otherwise a pipe. If possible,
// the new pipe has at least the capacity of model. Both ends are blocking.
func pipeLike(model *os.File) (w, r *os.File, err error) {
	like, _ := syspipe.Describe(model) // if that fails, make a pipe
	kind := syspipe.Anonymous
	if like.Kind == "socket" {
		kind = syspipe.SocketPair
	}
	writing, reading, err := syspipe.Open(kind, syspipe.Options{IO: syspipe.Blocking})
	if err != nil {
		return nil, nil, err
	}
	defer writing.Close()
	defer reading.Close()
	writing.Grow(like.Capacity) // both may fail: a smaller pipe and a socket pair work, too
	writing.Grow(relayCapacity)
	w, err = writing.File()
	if err != nil {
		return nil, nil, err
	}
	r, err = reading.File()
	if err != nil {
		w.Close()
		return nil, nil, err
	}
	return w, r, nil
}

// mirrorMode makes the file end non-blocking if the file model is non-blocking, so that the
// server's writes fail or wait as they would on model itself.
func mirrorMode(model, end *os.File) {
	if like, err := syspipe.Describe(model); err == nil && like.NonBlocking {
		control(end, func(fd int) { unix.SetNonblock(fd, true) })
	}
}

// endingSignals are the forwardedSignals that ask a process to end.
var endingSignals = []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM}

// forwardedSignals are the signals that a client, a terminal or a supervisor sends to a server.
var forwardedSignals = []os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM,
	unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGCONT,
}

// resetHandler removes Go's handler of a signal. Package os/signal keeps the handlers of some
// signals, such as SIGSEGV, even after a reset. Except on Linux, resetHandler does nothing.
var resetHandler = func(int) {}

// dieBySignal ends this process by a signal, without a core file, since the server has left one.
func dieBySignal(number int) {
	s := syscall.Signal(number)
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	signal.Reset(s)
	resetHandler(number)
	unix.Kill(unix.Getpid(), s)
	// The signal may take a moment to arrive. If it does not arrive, this process exits with a
	// status instead.
	time.Sleep(time.Second)
}
