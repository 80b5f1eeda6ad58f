package inspect

import "golang.org/x/sys/unix"

// Architectures newer than amd64 lack these system calls. They have only later ones that do the
// same, such as ppoll.
func init() {
	calls[unix.SYS_POLL] = "poll"
	calls[unix.SYS_SELECT] = "select"
	calls[unix.SYS_EPOLL_WAIT] = "epoll"
	calls[unix.SYS_OPEN] = "open"
}
