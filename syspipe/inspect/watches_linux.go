package inspect

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

// maxWatches bounds how many descriptors are read from the arguments of one call. A call of select
// cannot have more (FD_SETSIZE).
const maxWatches = 1024

// watched returns the descriptors for which a thread waits in a call ("epoll", "poll" or "select"),
// as far as they can be read.
func watched(pid int, call string, args [3]uint64) []watch {
	if call == "epoll" {
		return epollWatches(pid, int(args[0]))
	}
	var polled []watch
	if call == "poll" {
		polled = pollWatches(pid, args)
	} else {
		polled = selectWatches(pid, args)
	}
	list := polled
	for _, w := range polled { // each may be an epoll descriptor
		list = append(list, epollWatches(pid, w.fd)...)
	}
	return list
}

// newWatch makes a watch from events of epoll. The events of poll have the same values.
func newWatch(fd int, events uint32) watch {
	return watch{
		fd:   fd,
		in:   events&unix.EPOLLIN != 0,
		out:  events&unix.EPOLLOUT != 0,
		edge: events&unix.EPOLLET != 0,
	}
}

// pollWatches reads the arguments of poll: an array of struct pollfd, and its length.
func pollWatches(pid int, args [3]uint64) []watch {
	const size = 8 // of struct pollfd: the descriptor (4 bytes), events and revents (2 each)
	var list []watch
	b := readMemory(pid, args[0], size*int(min(args[1], maxWatches)))
	for ; len(b) >= size; b = b[size:] {
		fd := int32(binary.NativeEndian.Uint32(b))
		events := binary.NativeEndian.Uint16(b[4:])
		list = append(list, newWatch(int(fd), uint32(events)))
	}
	return list
}

// selectWatches reads the arguments of select: the number of bits in each set, the set to read, and
// the set to write.
func selectWatches(pid int, args [3]uint64) []watch {
	const wordBits, wordBytes = 64, 8
	var list []watch
	bits := int(min(args[0], maxWatches))
	words := (bits + wordBits - 1) / wordBits
	for i, events := range []uint32{unix.EPOLLIN, unix.EPOLLOUT} {
		b := readMemory(pid, args[1+i], words*wordBytes)
		for fd := range min(bits, len(b)/wordBytes*wordBits) {
			word := binary.NativeEndian.Uint64(b[fd/wordBits*wordBytes:])
			if word&(1<<(fd%wordBits)) != 0 {
				list = append(list, newWatch(fd, events))
			}
		}
	}
	return list
}

// epollWatches returns what an epoll descriptor watches. Only epoll descriptors have such lines in
// /proc/PID/fdinfo/FD:
//
//	tfd:        0 events:       19 data:                0  pos:0 ino:4c8107 sdev:f
func epollWatches(pid, fd int) []watch {
	text, err := procfs.Text(pid, "fdinfo", strconv.Itoa(fd))
	if err != nil {
		return nil
	}
	var list []watch
	for line := range strings.Lines(text) {
		var target int
		var events uint32
		if _, err := fmt.Sscanf(line, "tfd: %d events: %x", &target, &events); err == nil {
			list = append(list, newWatch(target, events))
		}
	}
	return list
}

// anyEpoll returns what all epoll descriptors of a process watch. It is used if a thread waits for
// one of these descriptors, but we do not know for which. As no watch is certain then, edge is set
// in each.
func anyEpoll(pid int) []watch {
	var list []watch
	fds, _ := procfs.Descriptors(pid)
	for _, fd := range fds {
		list = append(list, epollWatches(pid, fd)...)
	}
	for i := range list {
		list[i].edge = true
	}
	return list
}
