package tap_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// beRelay passes both directions on as one would write it down: the yardstick of the figures below.
func beRelay(args []string) {
	cmd := exec.Command(args[0], args[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	out, err := os.Create(os.DevNull)
	if err != nil {
		panic(err)
	}
	defer out.Close()
	cmd.Stdout = io.MultiWriter(os.Stdout, out)
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	go func() {
		io.Copy(io.MultiWriter(in, out), os.Stdin)
		in.Close()
	}()
	cmd.Wait()
}

// A link is a client's two descriptors, blocking.
type link struct {
	in, out int
	close   func()
}

// connect starts cat, with something between or not. Everything that is started runs on the CPUs given.
func connect(tb testing.TB, between string, cpus ...int) link {
	tb.Helper()
	runtime.LockOSThread()
	var before, set unix.CPUSet
	unix.SchedGetaffinity(0, &before)
	for _, c := range cpus {
		set.Set(c)
	}
	if len(cpus) > 0 {
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			tb.Skipf("set affinity: %v", err)
		}
	}
	args := []string{"cat"}
	if between != "none" {
		args = append([]string{self()}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	var record *os.File
	if between != "none" {
		cmd.Env = append(os.Environ(), job+"="+between, "RECORD=1")
		var err error
		if record, err = os.Create(tb.TempDir() + "/recording.jsonl"); err != nil {
			tb.Fatal(err)
		}
		cmd.ExtraFiles = []*os.File{record}
	}
	cmd.Stderr = os.Stderr
	theirIn, in := pipe(tb)
	out, theirOut := pipe(tb)
	cmd.Stdin, cmd.Stdout = theirIn, theirOut
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	return link{int(in.Fd()), int(out.Fd()), func() {
		in.Close()
		out.Close()
		cmd.Wait()
		record.Close()
		unix.SchedSetaffinity(0, &before)
		runtime.UnlockOSThread()
	}}
}

func (l link) roundTrip(tb testing.TB, msg, buf []byte) {
	go1 := len(msg) > 32<<10 // more than fits on the way: write beside
	if go1 {
		done := make(chan struct{})
		go func() { defer close(done); writeAll(tb, l.in, msg) }()
		readAll(tb, l.out, buf[:len(msg)])
		<-done
		return
	}
	writeAll(tb, l.in, msg)
	readAll(tb, l.out, buf[:len(msg)])
}

func writeAll(tb testing.TB, fd int, p []byte) {
	for len(p) > 0 {
		n, err := syscall.Write(fd, p)
		if err != nil {
			tb.Error(err)
			return
		}
		p = p[n:]
	}
}

func readAll(tb testing.TB, fd int, p []byte) {
	for len(p) > 0 {
		n, err := syscall.Read(fd, p)
		if err != nil || n == 0 {
			tb.Errorf("read: %d, %v", n, err)
			return
		}
		p = p[n:]
	}
}

// line is a request of size bytes, newline and all.
func line(size int) []byte {
	head, tail := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"text":"`, "\"}}\n"
	b := make([]byte, 0, size)
	b = append(b, head...)
	for len(b) < size-len(tail) {
		b = append(b, 'x')
	}
	return append(b, tail...)
}

func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
		for _, placed := range []struct {
			name string
			cpus []int
		}{{"same", []int{0}}, {"free", nil}} {
			for _, between := range []string{"none", "relay", "tap"} {
				b.Run(fmt.Sprintf("size=%d/placement=%s/between=%s", size, placed.name, between), func(b *testing.B) {
					l := connect(b, between, placed.cpus...)
					defer l.close()
					msg, buf := line(size), make([]byte, size)
					for range 100 {
						l.roundTrip(b, msg, buf)
					}
					b.ResetTimer()
					for range b.N {
						l.roundTrip(b, msg, buf)
					}
					b.StopTimer()
				})
			}
		}
	}
}

func BenchmarkBulk(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		for _, between := range []string{"none", "relay", "tap"} {
			b.Run(fmt.Sprintf("size=%d/between=%s", size, between), func(b *testing.B) {
				l := connect(b, between)
				defer l.close()
				batch := 64 << 10
				msg := line(size)
				for len(msg) < batch {
					msg = append(msg, line(size)...)
				}
				b.SetBytes(int64(len(msg)))
				buf := make([]byte, 256<<10)
				b.ResetTimer()
				began := time.Now()
				go func() {
					for range b.N {
						writeAll(b, l.in, msg)
					}
				}()
				for left := b.N * len(msg); left > 0; {
					n, err := syscall.Read(l.out, buf)
					if err != nil || n == 0 {
						b.Fatalf("read: %d, %v", n, err)
					}
					left -= n
				}
				b.ReportMetric(float64(b.N*len(msg)/size)/time.Since(began).Seconds(), "messages/s")
			})
		}
	}
}

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
