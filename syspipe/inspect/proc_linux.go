package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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

func openFiles(pid int) ([]openFile, error) {
	fds, err := numbers(procPath(pid, "fd"))
	var list []openFile
	for _, fd := range fds {
		if f, ok := readOpenFile(pid, fd); ok {
			list = append(list, f)
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
	_, rest, _ := strings.Cut(string(info), "flags:")
	line, _, _ := strings.Cut(rest, "\n")
	flags, err := strconv.ParseUint(strings.TrimSpace(line), 8, 64)
	f.reads = flags&unix.O_ACCMODE != unix.O_WRONLY
	f.writes = flags&unix.O_ACCMODE != unix.O_RDONLY
	f.nonBlocking = flags&unix.O_NONBLOCK != 0
	return f, err == nil
}

// calls are the system calls in which a thread waits for a descriptor, which is their first
// argument.
var calls = map[int]string{
	unix.SYS_READ: "read", unix.SYS_READV: "read", unix.SYS_RECVFROM: "read", unix.SYS_RECVMSG: "read",
	unix.SYS_WRITE: "write", unix.SYS_WRITEV: "write", unix.SYS_SENDTO: "write", unix.SYS_SENDMSG: "write",
}

// oldPolls are poll, select, epoll_wait of the architectures that still have them. The newer ones,
// arm64 among them, have only the p-calls.
var oldPolls = map[int]bool{}

// polls are those in which it waits for any of several.
var polls = map[int]bool{unix.SYS_PPOLL: true, unix.SYS_PSELECT6: true, unix.SYS_EPOLL_PWAIT: true, unix.SYS_EPOLL_PWAIT2: true}

// waits are those in which it waits for a child.
var waits = map[int]bool{unix.SYS_WAIT4: true, unix.SYS_WAITID: true}

// waitingThreads returns the threads of a process that wait for a descriptor or a child, as far as
// that may be read.
func waitingThreads(pid int) []Thread {
	tids, _ := numbers(procPath(pid, "task")) // what may not be read is not known
	var list []Thread
	for _, tid := range tids {
		if t, ok := readThread(pid, tid); ok {
			list = append(list, t)
		}
	}
	return list
}

// readThread reads /proc/PID/task/TID/syscall, "0 0x3 0x7ffd...": the number of the call and its
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
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return t, false
	}
	number, err := strconv.Atoi(fields[0])
	switch {
	case err == nil && (polls[number] || oldPolls[number]):
		t.In = "poll"
		return t, true
	case err == nil && waits[number]:
		t.In = "wait"
		return t, true
	}
	fd, bad := strconv.ParseUint(fields[1], 0, 64)
	if t.In = calls[number]; t.In == "" || err != nil || bad != nil {
		return t, false
	}
	t.FD = int(fd)
	return t, true
}

// A query is what a pipe says of itself.
type query struct {
	capacity, queued int
	wouldBlock       bool // asked as a writer: a write would wait
	peerGone         bool // the other side is closed for good
}

// queryPipe opens the holder's end a second time, without waiting, asks, and closes it.
func queryPipe(h Holder, write bool) (query, error) {
	mode, events := unix.O_RDONLY, int16(unix.POLLIN)
	if write {
		mode, events = unix.O_WRONLY, unix.POLLOUT
	}
	fd, err := unix.Open(procPath(h.PID, "fd", strconv.Itoa(h.FD)), mode|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		if write && errors.Is(err, unix.ENXIO) {
			return query{queued: -1, peerGone: true}, nil // a FIFO that nobody reads says so at once
		}
		return query{}, err
	}
	defer unix.Close(fd)
	var q query
	if q.capacity, err = unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0); err != nil {
		return query{}, err
	}
	if q.queued, err = unix.IoctlGetInt(fd, unix.TIOCINQ); err != nil {
		return query{}, err
	}
	fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
	if _, err := unix.Poll(fds, 0); err != nil {
		return query{}, err
	}
	q.peerGone = fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	q.wouldBlock = write && !q.peerGone && fds[0].Revents&unix.POLLOUT == 0
	return q, nil
}

// onSIGTERM reads what the signal does from the masks in /proc/PID/status: "SigIgn:\t0000000000004000".
func onSIGTERM(pid int) string {
	status, err := os.ReadFile(procPath(pid, "status"))
	if err != nil {
		return ""
	}
	has := func(mask string) bool {
		_, rest, _ := bytes.Cut(status, []byte("\n"+mask+":\t"))
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		bits, _ := strconv.ParseUint(string(line), 16, 64)
		return bits&(1<<(unix.SIGTERM-1)) != 0
	}
	switch {
	case has("SigIgn"):
		return "ignored"
	case has("SigCgt"):
		return "handled"
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
