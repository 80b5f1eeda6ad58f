package syspipe

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

var supportedKinds = []Kind{Anonymous, FIFO, SocketPair, PTY}

// openPTY makes a terminal of 80 columns. The program's side writes and the other side reads. With
// an error it returns the ends that were opened already.
func openPTY() (w, r *End, err error) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	ours, err := unix.Open("/dev/ptmx", flags, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	r = newEnd(PTY, reads, descriptor{fd: ours})
	if err := unix.IoctlSetPointerInt(ours, unix.TIOCSPTLCK, 0); err != nil {
		return nil, r, os.NewSyscallError("ioctl", err)
	}
	program, err := ptyPeer(ours, flags)
	if err != nil {
		return nil, r, err
	}
	w = newEnd(PTY, writes, descriptor{fd: program})
	if _, err := term.MakeRaw(program); err != nil {
		return w, r, fmt.Errorf("set the terminal's mode: %w", err)
	}
	size := &unix.Winsize{Row: 24, Col: 80} // programs ask how wide it is
	err = unix.IoctlSetWinsize(program, unix.TIOCSWINSZ, size)
	return w, r, os.NewSyscallError("ioctl", err)
}

// ptyPeer opens the program's side, which needs no /dev/pts. gVisor knows this ioctl only by name,
// and its readers never learn that the writer has left.
func ptyPeer(ours int, flags uintptr) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(ours), unix.TIOCGPTPEER, flags)
	if errno == syscall.ENOTTY {
		return -1, unsupported("TIOCGPTPEER")
	}
	if errno != 0 {
		return -1, os.NewSyscallError("TIOCGPTPEER", errno)
	}
	return int(fd), nil
}
