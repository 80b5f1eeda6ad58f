package inspect

import "golang.org/x/sys/unix"

func init() {
	for _, number := range []int{unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_EPOLL_WAIT} {
		calls[number] = "poll"
	}
}
