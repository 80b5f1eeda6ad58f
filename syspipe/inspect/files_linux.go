package inspect

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

// An openFile is a pipe, FIFO or socket that a process has open.
type openFile struct {
	pid, fd       int
	inode         uint64
	socket        bool
	path          string // of a FIFO
	reads, writes bool
	nonBlocking   bool
}

// readOpenFile describes a descriptor. It returns false if the descriptor is closed, or is no pipe,
// FIFO or socket.
func readOpenFile(pid, fd int) (openFile, bool) {
	link := procfs.Path(pid, "fd", strconv.Itoa(fd))
	name, err := os.Readlink(link)
	if err != nil {
		return openFile{}, false
	}
	f := openFile{pid: pid, fd: fd, socket: strings.HasPrefix(name, "socket:[")}
	if strings.HasPrefix(name, "/") {
		f.path = name
	} else if !f.socket && !strings.HasPrefix(name, "pipe:[") {
		return openFile{}, false
	}
	var st unix.Stat_t
	if err := unix.Stat(link, &st); err != nil {
		return openFile{}, false
	}
	if f.path != "" && st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return openFile{}, false
	}
	f.inode = st.Ino
	flags, err := procfs.Flags(pid, fd)
	if err != nil {
		return openFile{}, false
	}
	f.reads = flags&unix.O_ACCMODE != unix.O_WRONLY
	f.writes = flags&unix.O_ACCMODE != unix.O_RDONLY
	f.nonBlocking = flags&unix.O_NONBLOCK != 0
	return f, true
}

// measurePipe finds out how full a pipe is and whether its other end is gone. To do so, it opens
// the pipe once more, through the descriptor of one of the holders. The mode is O_WRONLY if the
// holders are writers, and O_RDONLY if they are readers.
func (c *Channel) measurePipe(holders []Holder, mode int) {
	for _, h := range holders {
		path := procfs.Path(h.PID, "fd", strconv.Itoa(h.FD))
		fd, err := unix.Open(path, mode|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if mode == unix.O_WRONLY && errors.Is(err, unix.ENXIO) { // nobody reads this FIFO
			c.Queued = -1 // not known
			c.NoReader = true
			return
		}
		if err != nil {
			continue
		}
		err = c.measureEnd(fd, mode)
		unix.Close(fd)
		if err == nil {
			return
		}
	}
}

func (c *Channel) measureEnd(fd, mode int) error {
	capacity, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		return err
	}
	queued, err := unix.IoctlGetUint32(fd, unix.TIOCINQ)
	if err != nil {
		return err
	}
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLOUT}}
	if _, err := unix.Poll(fds, 0 /* no wait */); err != nil {
		return err
	}
	c.Capacity = capacity
	c.Queued = int(queued)
	gone := fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	if mode == unix.O_WRONLY {
		c.NoReader = gone
		c.Full = !gone && fds[0].Revents&unix.POLLOUT == 0
	} else {
		c.NoWriter = gone
	}
	return nil
}
