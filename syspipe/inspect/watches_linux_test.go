package inspect

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// An epoll descriptor names what it watches by a number. By now the number may stand for another
// file, even for the epoll descriptor itself.
func TestAnEpollThatSeemsToWatchItself(t *testing.T) {
	epoll, err := unix.EpollCreate1(0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(epoll)
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(p[1])
	defer unix.Close(p[0])
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(p[0])}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, p[0], &event); err != nil {
		t.Fatal(err)
	}
	reader, err := unix.Dup(p[0]) // the pipe stays watched
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(reader)
	if err := unix.Dup3(epoll, p[0], 0); err != nil {
		t.Fatal(err)
	}
	if list := epollWatches(os.Getpid(), epoll); len(list) == 0 || list[0].fd != p[0] {
		t.Errorf("it watches %+v", list)
	}
}
