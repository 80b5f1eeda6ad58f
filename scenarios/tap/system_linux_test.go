package tap_test

import (
	"fmt"
	"os"
	"strings"
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

func TestOutputThatCannotBeWrittenFailsTheTap(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	p := &tapped{t: t, record: t.TempDir() + "/recording.jsonl", exited: make(chan struct{})}
	record, err := os.Create(p.record)
	if err != nil {
		t.Fatal(err)
	}
	theirIn, in := pipe(t)
	p.in = in
	p.out, _ = pipe(t) // nobody writes into it
	p.run([]string{"RECORD=1"}, theirIn, full, []*os.File{record}, []string{"sh", "-c", "echo hi"})
	for _, f := range []*os.File{record, theirIn, full} {
		f.Close()
	}
	if code := p.wait().ExitCode(); code != 1 {
		t.Errorf("exit code %d, want 1: the output is lost", code)
	}
	if said := p.stderr.String(); !strings.Contains(said, "no space left on device") {
		t.Errorf("stderr %q does not say why the output is lost", said)
	}
}
