package inspect

import "golang.org/x/sys/unix"

// Newer architectures have only later forms of these calls.
func init() {
	calls[unix.SYS_POLL] = "poll"
	calls[unix.SYS_SELECT] = "select"
	calls[unix.SYS_EPOLL_WAIT] = "epoll"
	calls[unix.SYS_OPEN] = "open"
}
