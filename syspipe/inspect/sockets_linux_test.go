package inspect_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe/inspect"
	"golang.org/x/sys/unix"
)

func init() {
	jobs["receive"] = func() error { return onSocket(syscall.Connect, awaitByte) }
	jobs["accept"] = func() error { return onSocket(syscall.Bind, acceptOne) }
	jobs["poll a socket"] = func() error { return onSocket(syscall.Connect, pollFor) }
	jobs["select a pipe"] = selectOwnPipe
	jobs["epoll a socket"] = func() error { return onSocket(syscall.Connect, epollFor) }
}

// onSocket connects or binds a socket to the path in the environment, or else connects it to the
// TCP port that stands there, and then waits.
func onSocket(join func(int, syscall.Sockaddr) error, wait func(int) error) error {
	path := os.Getenv(fifoVariable)
	family := syscall.AF_UNIX
	var address syscall.Sockaddr = &syscall.SockaddrUnix{Name: path}
	if to, err := net.ResolveTCPAddr("tcp", path); err == nil {
		family = syscall.AF_INET
		address = &syscall.SockaddrInet4{Port: to.Port, Addr: [4]byte{127, 0, 0, 1}}
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := join(fd, address); err != nil {
		return err
	}
	return wait(fd)
}

func awaitByte(fd int) error {
	_, err := syscall.Read(fd, make([]byte, 1))
	return err
}

func acceptOne(fd int) error {
	if err := syscall.Listen(fd, 1); err != nil {
		return err
	}
	_, _, err := syscall.Accept(fd)
	return err
}

// pollFor waits as a socket with a time limit does in Python.
func pollFor(fd int) error {
	_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
	return err
}

// epollFor waits for its input, for a socket, and for a pipe of its own, as event loops do.
func epollFor(fd int) error {
	epoll, err := unix.EpollCreate1(0)
	if err != nil {
		return err
	}
	var own [2]int
	if err := unix.Pipe(own[:]); err != nil {
		return err
	}
	for _, watched := range []int{own[0], 0, fd} {
		event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(watched)}
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, watched, &event); err != nil {
			return err
		}
	}
	_, err = unix.EpollWait(epoll, make([]unix.EpollEvent, 1), -1)
	return err
}

func selectOwnPipe() error {
	var own [2]int
	if err := unix.Pipe(own[:]); err != nil {
		return err
	}
	var set unix.FdSet
	set.Set(own[0])
	_, err := unix.Select(own[0]+1, &set, nil, nil, nil)
	return err
}

// A server that waits for somebody on a network, or for a daemon, waits for no pipe.
func TestAWaitAtASocketIsNamed(t *testing.T) {
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	folder := t.TempDir()
	daemon := filepath.Join(folder, "daemon")
	local, err := net.Listen("unix", daemon)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	full := filepath.Join(folder, "full")
	fill(t, full)
	for _, row := range []struct{ name, job, address, says string }{
		{"TCP", "receive", tcp.Addr().String(), ", a TCP connection to " + tcp.Addr().String()},
		{"Unix", "receive", daemon, ", a Unix socket"},
		{"no room", "receive", full, ", a Unix socket"},
		{"TCP in poll", "poll a socket", tcp.Addr().String(), ", a TCP connection to "},
		{"own pipe in select", "select a pipe", "", ", a pipe"},
		{"accept", "accept", filepath.Join(folder, "own"), ", a Unix socket"},
	} {
		t.Run(row.name, func(t *testing.T) {
			cmd := child(t, row.job)
			cmd.Env = append(cmd.Env, fifoVariable+"="+row.address)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			start(t, cmd)
			go out.Read(make([]byte, 1))
			mustFind(t, cmd.Process.Pid, inspect.Pauses, "neither reads nor writes: it ",
				"waits at descriptor ", row.says, " may wait for its stdout")
		})
	}
}

// An event loop watches several descriptors: its input and what it asked on a network are named.
func TestWhatAnEventLoopWatchesIsNamed(t *testing.T) {
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	cmd := child(t, "epoll a socket")
	cmd.Env = append(cmd.Env, fifoVariable+"="+tcp.Addr().String())
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	want := []string{"its stdin", "a TCP connection to " + tcp.Addr().String()}
	var named [][]string
	for end := time.Now().Add(deadline); time.Now().Before(end); runtime.Gosched() {
		report, err := inspect.Process(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		named = nil
		for _, thread := range report.Proc(cmd.Process.Pid).Threads {
			if slices.Equal(thread.Watched, want) {
				return
			}
			named = append(named, thread.Watched)
		}
	}
	t.Errorf("named %q, want %q", named, want)
}

// fill makes a Unix socket whose queue of connections that nobody accepts is full.
func fill(t *testing.T, path string) {
	t.Helper()
	listener, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(listener) })
	address := &syscall.SockaddrUnix{Name: path}
	if err := syscall.Bind(listener, address); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(listener, 0); err != nil {
		t.Fatal(err)
	}
	const kind = syscall.SOCK_STREAM | syscall.SOCK_CLOEXEC | syscall.SOCK_NONBLOCK
	for {
		fd, err := syscall.Socket(syscall.AF_UNIX, kind, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Close(fd) })
		err = syscall.Connect(fd, address)
		if err == syscall.EAGAIN {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
