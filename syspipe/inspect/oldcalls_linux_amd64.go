package inspect

import "golang.org/x/sys/unix"

func init() {
	calls[unix.SYS_POLL] = "poll"
	calls[unix.SYS_SELECT] = "select"
	calls[unix.SYS_EPOLL_WAIT] = "epoll"
	calls[unix.SYS_OPEN] = "open"
}
