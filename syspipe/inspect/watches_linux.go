package inspect

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

func newWatch(fd int, events uint32) watch {
	return watch{
		fd:   fd,
		in:   events&unix.EPOLLIN != 0, // also the value of POLLIN
		out:  events&unix.EPOLLOUT != 0,
		edge: events&unix.EPOLLET != 0,
	}
}

// maxWatches bounds what is read of the arguments of a call. A select takes no more.
const maxWatches = 1024

// watched returns what a thread in one of the calls waits for; nothing if that may not be read.
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
	for _, w := range polled {
		list = append(list, epollWatches(pid, w.fd)...)
	}
	return list
}

// pollWatches reads the arguments of poll: an array of struct pollfd, and its length.
func pollWatches(pid int, args [3]uint64) []watch {
	const size = 8 // an int and two shorts
	var list []watch
	b := readMemory(pid, args[0], size*int(min(args[1], maxWatches)))
	for ; len(b) >= size; b = b[size:] {
		fd := int32(binary.NativeEndian.Uint32(b))
		events := binary.NativeEndian.Uint16(b[4:])
		list = append(list, newWatch(int(fd), uint32(events)))
	}
	return list
}

// selectWatches reads the arguments of select: how many bits there are in a set of descriptors, the
// set to read, and the set to write.
func selectWatches(pid int, args [3]uint64) []watch {
	const word = 8
	var list []watch
	bits := int(min(args[0], maxWatches))
	for i, events := range []uint32{unix.EPOLLIN, unix.EPOLLOUT} {
		b := readMemory(pid, args[1+i], (bits+8*word-1)/(8*word)*word)
		for fd := 0; fd < bits && fd/(8*word)*word < len(b); fd++ {
			set := binary.NativeEndian.Uint64(b[fd/(8*word)*word:])
			if set&(1<<(fd%(8*word))) != 0 {
				list = append(list, newWatch(fd, events))
			}
		}
	}
	return list
}

// epollWatches reads what an epoll descriptor watches, and what the epoll descriptors among that
// watch. In /proc/PID/fdinfo/N each is a line, with its events in hexadecimal:
// "tfd:        0 events:       19 data:                0  pos:0 ino:4c8107 sdev:f". Another
// descriptor has no such lines.
func epollWatches(pid, fd int) []watch { return nestedWatches(pid, fd, mostNested) }

// mostNested is how many epoll descriptors Linux lets watch each other. A number in /proc may stand
// for another file by now, even for the one that is read, so the kernel's bound is needed here too.
const mostNested = 5

func nestedWatches(pid, fd, depth int) []watch {
	if depth == 0 {
		return nil
	}
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
			list = append(list, nestedWatches(pid, target, depth-1)...)
		}
	}
	return list
}

// anyEpoll returns what the epoll descriptors of a process watch, if it is not known which of them
// a thread waits for. So none of that is certain.
func anyEpoll(pid int) []watch {
	var list []watch
	fds, _ := procfs.Descriptors(pid)
	for _, fd := range fds {
		name, err := os.Readlink(procfs.Path(pid, "fd", strconv.Itoa(fd)))
		if err == nil && name == "anon_inode:[eventpoll]" {
			list = append(list, epollWatches(pid, fd)...)
		}
	}
	for i := range list {
		list[i].edge = true
	}
	return list
}
