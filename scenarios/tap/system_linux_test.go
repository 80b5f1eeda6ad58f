package tap_test

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func standardTypes() []string {
	var out []string
	for fd := range 2 {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return []string{err.Error()}
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFIFO:
			n, _ := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
			out = append(out, fmt.Sprintf("pipe:%d", n))
		case unix.S_IFSOCK:
			out = append(out, "socket")
		default:
			out = append(out, "other")
		}
		if flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); flags&unix.O_NONBLOCK != 0 {
			out[fd] += "+nonblock"
		}
	}
	return out
}

func needLinux(*testing.T) {}

func resize(t *testing.T, f *os.File, bytes int) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var refused error
	if err := raw.Control(func(fd uintptr) { _, refused = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, bytes) }); err != nil || refused != nil {
		t.Fatal(err, refused)
	}
}
