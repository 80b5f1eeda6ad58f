package syspipe

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

var supportedKinds = []Kind{Anonymous, FIFO, SocketPair, Unix, SeqPacket, PTY, Ring}

// newStream returns how the calls of a kind differ from those of a pipe, nil where they do not.
func newStream(kind Kind) stream {
	switch kind {
	case SeqPacket:
		return &packets{}
	case PTY:
		return terminal{}
	}
	return nil
}

// maxPacket is the most that goes into one packet, in bytes: well below the 212,992 of a socket's
// usual buffer, which bounds a packet.
const maxPacket = 64 << 10

// packets make a stream of bytes of a socket that keeps packets whole.
type packets struct {
	most  int    // that the socket takes in one, in bytes; 0 until it was asked
	store []byte // of a read with a buffer that a packet may exceed
	rest  []byte // of the packet in the store
}

func (s *packets) read(e *End, p []byte) (int, syscall.Errno) {
	if len(s.rest) > 0 {
		n := copy(p, s.rest)
		s.rest = s.rest[n:]
		e.in.calls-- // the caller counts one, and none was made
		return n, 0
	}
	if len(p) >= maxPacket {
		return sysRead(e.fd, p)
	}
	if s.store == nil {
		s.store = make([]byte, maxPacket)
	}
	n, errno := sysRead(e.fd, s.store)
	if errno != 0 {
		return 0, errno
	}
	s.rest = s.store[copy(p, s.store[:n]):max(n, 0)]
	return min(n, len(p)), 0
}

func (s *packets) write(e *End, p []byte) (int, syscall.Errno) {
	return sysWrite(e.fd, p[:min(len(p), s.limit(e))])
}

func (s *packets) gathers(e *End, n int64) bool { return n <= int64(s.limit(e)) }

func (s *packets) resized() { s.most = 0 }

// limit asks how large a packet may be, which a capacity that was set lowers: the socket's buffer but
// for 32 bytes (net/unix/af_unix.c, unix_dgram_sendmsg).
func (s *packets) limit(e *End) int {
	if s.most == 0 {
		buffer, err := unix.GetsockoptInt(e.fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
		if s.most = maxPacket; err == nil {
			s.most = min(maxPacket, buffer-32)
		}
	}
	return s.most
}

// A terminal says EIO both at its end of file and where the other side has left.
type terminal struct{}

// read asks again after EIO, and counts that as one call: the kernel looks for bytes first and for a
// writer afterwards (n_tty_read), so what was written in between is still to come. Of 120,000 writers
// that left at once on a loaded machine three had their last bytes there.
func (terminal) read(e *End, p []byte) (n int, errno syscall.Errno) {
	for range 2 {
		if n, errno = sysRead(e.fd, p); errno != syscall.EIO {
			return n, errno
		}
	}
	return 0, 0
}

func (terminal) write(e *End, p []byte) (int, syscall.Errno) {
	n, errno := sysWrite(e.fd, p)
	if errno == syscall.EIO {
		return 0, syscall.EPIPE
	}
	return n, errno
}

// ptyPeer opens the program's side, which needs no /dev/pts. gVisor has that name of it alone, and
// its reader never learns that the writer has left.
func ptyPeer(ours int, flags uintptr) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(ours), unix.TIOCGPTPEER, flags)
	if errno == syscall.ENOTTY {
		return -1, unsupported("TIOCGPTPEER")
	}
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func (terminal) gathers(*End, int64) bool { return false } // so that EIO is met in one place

// openPTY makes a terminal of 80 columns, of which the program's side writes and the other one reads.
func openPTY() (w, r *End, err error) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	ours, err := unix.Open("/dev/ptmx", flags, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	r = newEnd(PTY, reads, ours)
	program := -1
	if err = unix.IoctlSetPointerInt(ours, unix.TIOCSPTLCK, 0); err == nil {
		program, err = ptyPeer(ours, flags)
	}
	if err == nil {
		w = newEnd(PTY, writes, program)
		_, err = term.MakeRaw(program)
	}
	if err == nil { // as programs ask how wide it is
		err = unix.IoctlSetWinsize(program, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	return w, r, os.NewSyscallError("ioctl", err)
}
