package syspipe

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

var supportedKinds = []Kind{Anonymous, FIFO, SocketPair, PTY}

// openPTY makes a pseudo-terminal. The side in which a program would run is the writing end. After
// an error, openPTY returns the ends that it has opened.
func openPTY() (w, r *End, err error) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	ours, err := unix.Open("/dev/ptmx", flags, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	r = newEnd(PTY, reads, descriptor{fd: ours})
	const unlocked = 0 // a new terminal is locked
	if err := unix.IoctlSetPointerInt(ours, unix.TIOCSPTLCK, unlocked); err != nil {
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
	size := &unix.Winsize{Row: 24, Col: 80} // programs ask for it
	err = unix.IoctlSetWinsize(program, unix.TIOCSWINSZ, size)
	return w, r, os.NewSyscallError("ioctl", err)
}

// ptyPeer opens the program's side by an ioctl, which needs no /dev/pts.
func ptyPeer(ours int, flags uintptr) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(ours), unix.TIOCGPTPEER, flags)
	if errno == syscall.ENOTTY {
		// This is gVisor, where a reader never learns that the writer has left.
		return -1, unsupported("TIOCGPTPEER")
	}
	if errno != 0 {
		return -1, os.NewSyscallError("TIOCGPTPEER", errno)
	}
	return int(fd), nil
}
