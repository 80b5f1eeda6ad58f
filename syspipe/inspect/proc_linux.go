package inspect

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe/script"
)

// procRoot is where the kernel tells of its processes.
var procRoot = "/proc"

func procPath(pid int, rest ...string) string {
	return filepath.Join(append([]string{procRoot, strconv.Itoa(pid)}, rest...)...)
}

// numbers returns the names in a folder of /proc that are numbers.
func numbers(folder string) ([]int, error) {
	entries, err := os.ReadDir(folder)
	var list []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, n)
		}
	}
	return list, err
}

// processes returns every process that can be seen.
func processes() (map[int]Proc, error) {
	pids, err := numbers(procRoot)
	all := map[int]Proc{}
	for _, pid := range pids {
		command, fields := readStat(procPath(pid, "stat"))
		if len(fields) < 18 || fields[0] == "Z" && fields[17] < "2" { // ended, and not waited for
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			all[pid] = Proc{PID: pid, Parent: parent, Command: command}
		}
	}
	return all, err
}

// readStat reads the command of a process or thread, and what follows it, from "1 (a command) S 0
// ...": the command may hold anything, blanks and brackets among it. Nothing if it has ended since.
func readStat(path string) (command string, fields []string) {
	text, _ := os.ReadFile(path)
	from, to := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if from < 0 || to < from {
		return "", nil
	}
	return string(text[from+1 : to]), strings.Fields(string(text[to+1:]))
}

// An openFile is a pipe, FIFO or socket that a process has open.
type openFile struct {
	pid, fd       int
	inode         uint64
	socket        bool
	path          string // of a FIFO
	reads, writes bool
	nonBlocking   bool
}

// each reads what the files or folders of a process tell whose names are numbers, as far as they tell.
func each[T any](pid int, folder string, read func(pid, n int) (T, bool)) (list []T, err error) {
	names, err := numbers(procPath(pid, folder))
	for _, n := range names {
		if v, ok := read(pid, n); ok {
			list = append(list, v)
		}
	}
	return list, err
}

// readOpenFile reports false for a descriptor that is closed by now, or is something else. How the
// file was opened is in /proc/PID/fdinfo/N: "flags:\t0100001", in octal.
func readOpenFile(pid, fd int) (openFile, bool) {
	link := procPath(pid, "fd", strconv.Itoa(fd))
	name, _ := os.Readlink(link)
	f := openFile{pid: pid, fd: fd, socket: strings.HasPrefix(name, "socket:[")}
	if strings.HasPrefix(name, "/") {
		f.path = name
	} else if !f.socket && !strings.HasPrefix(name, "pipe:[") {
		return openFile{}, false
	}
	var st unix.Stat_t
	if err := unix.Stat(link, &st); err != nil || f.path != "" && st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return openFile{}, false
	}
	f.inode = st.Ino
	info, _ := os.ReadFile(procPath(pid, "fdinfo", strconv.Itoa(fd)))
	flags, err := strconv.ParseUint(line(info, "flags"), 8, 64)
	f.reads = flags&unix.O_ACCMODE != unix.O_WRONLY
	f.writes = flags&unix.O_ACCMODE != unix.O_RDONLY
	f.nonBlocking = flags&unix.O_NONBLOCK != 0
	return f, err == nil
}

// line returns what a text of /proc says of a name, "name:\tvalue" in a line of its own.
func line(text []byte, name string) string {
	_, rest, _ := strings.Cut("\n"+string(text), "\n"+name+":\t")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// calls are the system calls in which a thread waits for a descriptor, which is the first argument of
// a read or a write, or for a child. An init adds those that some architectures lack.
var calls = map[int]string{
	unix.SYS_READ: "read", unix.SYS_READV: "read", unix.SYS_RECVFROM: "read", unix.SYS_RECVMSG: "read",
	unix.SYS_WRITE: "write", unix.SYS_WRITEV: "write", unix.SYS_SENDTO: "write", unix.SYS_SENDMSG: "write",
	unix.SYS_PPOLL: "poll", unix.SYS_PSELECT6: "poll", unix.SYS_EPOLL_PWAIT: "poll", unix.SYS_EPOLL_PWAIT2: "poll",
	unix.SYS_WAIT4: "wait", unix.SYS_WAITID: "wait",
}

// readThread tells of a thread that waits for a descriptor or a child, as far as that may be read. It
// reads /proc/PID/task/TID/syscall, "0 0x3 0x7ffd...": the number of the call and its
// arguments, or "running". Where that may not be read, the kernel function that the thread sleeps
// in tells what the call was. Their names changed over time: pipe_read became anon_pipe_read.
func readThread(pid, tid int) (Thread, bool) {
	task := procPath(pid, "task", strconv.Itoa(tid))
	t := Thread{TID: tid, FD: -1}
	if at, _ := os.ReadFile(filepath.Join(task, "wchan")); string(at) != "0" { // else the kernel keeps it to itself
		t.At = string(at)
	}
	text, err := os.ReadFile(filepath.Join(task, "syscall"))
	if err != nil {
		switch {
		case strings.HasSuffix(t.At, "pipe_read"), strings.HasPrefix(t.At, "unix_stream_read"), strings.HasPrefix(t.At, "unix_stream_data_wait"):
			t.In = "read"
		case strings.HasSuffix(t.At, "pipe_write"), strings.HasPrefix(t.At, "sock_alloc_send"), t.At == "sock_wait_for_wmem":
			t.In = "write"
		case strings.Contains(t.At, "poll"), strings.Contains(t.At, "select"):
			t.In = "poll"
		case t.At == "do_wait":
			t.In = "wait"
		}
		return t, t.In != ""
	}
	var number int
	var first uint64
	if n, _ := fmt.Sscanf(string(text), "%d %v", &number, &first); n == 2 {
		t.In = calls[number]
	}
	if t.In == "read" || t.In == "write" {
		t.FD = int(first)
	}
	return t, t.In != ""
}

// ask asks a pipe by the first end that may be asked how full it is, and whether the other side has
// gone. It opens the end a second time, without waiting, and closes it.
func (c *Channel) ask(holders []Holder, mode int) {
	for _, h := range holders {
		fd, err := unix.Open(procPath(h.PID, "fd", strconv.Itoa(h.FD)), mode|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if mode == unix.O_WRONLY && errors.Is(err, unix.ENXIO) {
			c.Queued, c.NoReader = -1, true // a FIFO that nobody reads says so at once
			return
		}
		if err == nil && script.Run(func() { c.askEnd(fd, mode) }) == nil {
			return
		}
	}
}

func (c *Channel) askEnd(fd, mode int) {
	defer unix.Close(fd)
	capacity := script.Must(unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0))
	queued := script.Must(unix.IoctlGetUint32(fd, unix.TIOCINQ))
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLOUT}}
	script.Must(unix.Poll(fds, 0))
	c.Capacity, c.Queued = capacity, int(queued)
	gone := fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	if mode == unix.O_WRONLY {
		c.NoReader, c.Full = gone, !gone && fds[0].Revents&unix.POLLOUT == 0
	} else {
		c.NoWriter = gone
	}
}

// onSIGTERM reads what the signal does from the masks in /proc/PID/status: "SigIgn:\t0000000000004000".
func onSIGTERM(pid int) string {
	status, err := os.ReadFile(procPath(pid, "status"))
	if err != nil {
		return ""
	}
	for mask, does := range map[string]string{"SigIgn": "ignored", "SigCgt": "handled"} {
		if bits, _ := strconv.ParseUint(line(status, mask), 16, 64); bits&(1<<(unix.SIGTERM-1)) != 0 {
			return does
		}
	}
	return "ends"
}

// readUsage reads the counters of /proc/PID/io, "rchar: 4711" a line, and of each thread's schedstat,
// "<ns with a CPU> <ns waiting for one> <turns>"; nil where the former may not be read.
func readUsage(pid int) *Usage {
	text, err := os.ReadFile(procPath(pid, "io"))
	u := &Usage{threads: map[int]turns{}}
	if n, _ := fmt.Sscanf(string(text), "rchar: %d\nwchar: %d\nsyscr: %d\nsyscw: %d",
		&u.ReadBytes, &u.WriteBytes, &u.ReadCalls, &u.WriteCalls); err != nil || n != 4 {
		return nil
	}
	tids, _ := numbers(procPath(pid, "task"))
	for _, tid := range tids {
		task := procPath(pid, "task", strconv.Itoa(tid))
		var t turns
		text, _ := os.ReadFile(filepath.Join(task, "schedstat")) // zeroes where the kernel keeps none
		_, _ = fmt.Sscan(string(text), &t.ran, &t.waited)
		_, fields := readStat(filepath.Join(task, "stat"))
		t.runnable = len(fields) > 0 && fields[0] == "R"
		u.threads[tid] = t
		u.Runnable = max(u.Runnable, t.ran+t.waited)
	}
	return u
}

// A socket is a Unix socket as sock_diag(7) tells of it.
type socket struct {
	peer       uint64 // inode of the other socket, 0 for none
	peerClosed bool   // it was connected, and the peer is closed
	unread     int    // bytes received and not yet read
}

// The structures of linux/unix_diag.h, which x/sys lacks.
const (
	diagShowPeer    = 4  // UDIAG_SHOW_PEER
	diagShowQueue   = 16 // UDIAG_SHOW_RQLEN
	diagPeer        = 2  // UNIX_DIAG_PEER
	diagQueue       = 4  // UNIX_DIAG_RQLEN
	diagShutdown    = 6  // UNIX_DIAG_SHUTDOWN
	diagRequestSize = 24 // struct unix_diag_req
	diagAnswerSize  = 16 // struct unix_diag_msg
	stateConnected  = 1  // TCP_ESTABLISHED
	bothWays        = 3  // RCV_SHUTDOWN | SEND_SHUTDOWN
)

// unixSockets returns the Unix sockets of this network namespace by their inodes: none where the
// kernel does not tell.
func unixSockets() map[uint64]socket {
	all := map[uint64]socket{}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return all
	}
	defer unix.Close(fd)
	request := make([]byte, unix.NLMSG_HDRLEN+diagRequestSize) // all Unix sockets, their peers and their queues
	order := binary.NativeEndian
	order.PutUint32(request[0:], uint32(len(request)))
	order.PutUint16(request[4:], unix.SOCK_DIAG_BY_FAMILY)
	order.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	body := request[unix.NLMSG_HDRLEN:]
	body[0] = unix.AF_UNIX
	order.PutUint32(body[4:], ^uint32(0)) // sockets in every state
	order.PutUint32(body[12:], diagShowPeer|diagShowQueue)
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return all
	}
	for buf := make([]byte, 1<<16); ; {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err == unix.EINTR {
			continue
		}
		messages, bad := syscall.ParseNetlinkMessage(buf[:max(n, 0)])
		if err != nil || bad != nil {
			return all
		}
		for _, m := range messages {
			if m.Header.Type == unix.NLMSG_DONE || m.Header.Type == unix.NLMSG_ERROR {
				return all
			}
			readSocket(m.Data, all)
		}
	}
}

// readSocket reads a struct unix_diag_msg and the attributes after it.
func readSocket(b []byte, into map[uint64]socket) {
	if len(b) < diagAnswerSize {
		return
	}
	order := binary.NativeEndian
	inode := uint64(order.Uint32(b[4:]))
	connected := b[1] == unix.SOCK_STREAM && b[2] == stateConnected
	var s socket
	for rest := b[diagAnswerSize:]; len(rest) >= unix.SizeofRtAttr; {
		size, kind := int(order.Uint16(rest)), order.Uint16(rest[2:])
		if size < unix.SizeofRtAttr || size > len(rest) {
			break
		}
		switch value := rest[unix.SizeofRtAttr:size]; {
		case kind == diagPeer && len(value) >= 4:
			s.peer = uint64(order.Uint32(value))
		case kind == diagQueue && len(value) >= 8:
			s.unread = int(order.Uint32(value))
		case kind == diagShutdown && len(value) >= 1:
			s.peerClosed = value[0] == bothWays
		}
		rest = rest[min(len(rest), (size+3)&^3):]
	}
	s.peerClosed = s.peerClosed && s.peer == 0
	if connected || s.peerClosed {
		into[inode] = s
	}
}
