package inspect

import "golang.org/x/sys/unix"

// Only older architectures such as amd64 have these system calls. Newer architectures have only
// their successors, such as ppoll.
func init() {
	calls[unix.SYS_POLL] = "poll"
	calls[unix.SYS_SELECT] = "select"
	calls[unix.SYS_EPOLL_WAIT] = "epoll"
	calls[unix.SYS_OPEN] = "open"
}
