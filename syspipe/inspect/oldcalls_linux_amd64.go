package inspect

import "golang.org/x/sys/unix"

func init() {
	calls[unix.SYS_POLL] = "poll"
	calls[unix.SYS_SELECT] = "poll"
	calls[unix.SYS_EPOLL_WAIT] = "poll"
	calls[unix.SYS_OPEN] = "open"
}
