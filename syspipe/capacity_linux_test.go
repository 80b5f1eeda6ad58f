package syspipe_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe"
)

func TestCapacityIsReadBack(t *testing.T) {
	for _, kind := range []syspipe.Kind{syspipe.Anonymous, syspipe.FIFO} {
		for _, asked := range []int{1, 16 << 10, 64 << 10, 100000, 256 << 10} {
			t.Run(fmt.Sprintf("%s/%d", kind, asked), func(t *testing.T) {
				w, r, err := syspipe.Open(kind, syspipe.Options{Capacity: asked, IO: syspipe.Blocking})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { w.Close(); r.Close() }()
				got, err := w.Capacity()
				if err != nil || got < asked {
					t.Errorf("Capacity = %d, %v; want at least %d", got, err, asked)
				}
				if other, _ := r.Capacity(); other != got {
					t.Errorf("the reader says %d, the writer %d", other, got)
				}
				if again, err := w.SetCapacity(got); again != got || err != nil {
					t.Errorf("SetCapacity(%d) = %d, %v: rounding is not stable", got, again, err)
				}
			})
		}
	}
}

// TestCapacityIsWhatFits fills each kind with large writes and compares.
func TestCapacityIsWhatFits(t *testing.T) {
	for _, kind := range []syspipe.Kind{syspipe.Anonymous, syspipe.FIFO, syspipe.SocketPair} {
		t.Run(string(kind), func(t *testing.T) {
			w, r := open(t, kind, 0, syspipe.Spin)
			want, err := w.Capacity()
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan int)
			go func() { n, _ := w.Write(make([]byte, 4<<20)); done <- n }()
			within(t, "fill", func() {
				for n := 0; n < want; n, err = r.Buffered() {
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
			w.Close()
			if n := <-done; n != want {
				t.Errorf("%d bytes were accepted, the capacity is %d", n, want)
			}
		})
	}
}

func TestCapacityAboveTheLimit(t *testing.T) {
	limit := limitFrom(t, "/proc/sys/fs/pipe-max-size")
	_, _, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{Capacity: 2 * limit, IO: syspipe.Blocking})
	if err == nil {
		t.Skip("this process may exceed fs.pipe-max-size")
	}
	var refused *syspipe.CapacityError
	if !errors.As(err, &refused) || !errors.Is(err, syscall.EPERM) {
		t.Fatalf("error %v, want a *CapacityError that is an EPERM", err)
	}
	if refused.Asked != 2*limit || refused.Limit != limit || !strings.Contains(err.Error(), "pipe-max-size") {
		t.Errorf("%+v, want asked %d and limit %d", refused, 2*limit, limit)
	}
}

func TestCapacityBelowTheFill(t *testing.T) {
	w, _ := open(t, syspipe.Anonymous, 64<<10, syspipe.Spin)
	if _, err := w.Write(make([]byte, 64<<10)); err != nil {
		t.Fatal(err)
	}
	var refused *syspipe.CapacityError
	if _, err := w.SetCapacity(4096); !errors.As(err, &refused) || !errors.Is(err, syscall.EBUSY) {
		t.Errorf("SetCapacity of a full pipe: %v, want a *CapacityError that is EBUSY", err)
	}
}

// TestACapacityErrorExplainsOnlyWhatItKnows: a descriptor opened with O_PATH has no capacity at
// all, which is no limit of pipes.
func TestACapacityErrorExplainsOnlyWhatItKnows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_PATH, 0)
	if err != nil {
		t.Fatal(err)
	}
	end, err := syspipe.Inherited(fmt.Sprintf(
		`{"number":%d,"kind":"fifo","direction":2,"io":%d}`, fd, syspipe.Blocking))
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	_, err = end.SetCapacity(4096)
	var refused *syspipe.CapacityError
	if !errors.As(err, &refused) || !errors.Is(err, unix.EBADF) || refused.Where != "" {
		t.Errorf("SetCapacity: %v; want EBADF and no explanation", err)
	}
}

// TestASocketPairGetsAboutTwice: as the comment of SetCapacity says.
func TestASocketPairGetsAboutTwice(t *testing.T) {
	limit := limitFrom(t, "/proc/sys/net/core/wmem_max")
	for _, asked := range []int{limit / 2, limit, 2 * limit, 1<<31 - 1} {
		w, _ := open(t, syspipe.SocketPair, 0, syspipe.Poll)
		got, err := w.SetCapacity(asked)
		times := float64(got) / float64(min(asked, limit))
		if err != nil || times < 1.8 || times > 2.5 {
			t.Errorf("SetCapacity(%d) = %d, %v: %.2f times as much", asked, got, err, times)
		}
	}
}

func limitFrom(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Skip(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLimits runs what exhausts a limit in a child of its own, so that this process is none the
// worse for it.
func TestLimits(t *testing.T) {
	for name, job := range map[string]string{"descriptors": "exhaust-descriptors", "pages of pipes": "exhaust-pages", "growth": "grow-without-pages"} {
		t.Run(name, func(t *testing.T) {
			cmd := child(t, job)
			if job != "exhaust-descriptors" {
				asNobody(t, cmd)
			}
			var said bytes.Buffer
			cmd.Stderr = &said
			err := cmd.Run()
			if errors.Is(err, fs.ErrPermission) {
				t.Skip("another user cannot reach the folder for temporary files")
			}
			if err != nil {
				t.Fatalf("%v: %s", err, said.String())
			}
			t.Log(strings.TrimSpace(said.String()))
		})
	}
}

// asNobody makes the child run as a user who has no privilege, with a copy of this binary that it
// may read.
func asNobody(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if os.Getuid() != 0 {
		return // no privilege to give up
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir = "/"
	text, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "syspipe-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd.Path = filepath.Join(dir, "child")
	if err := os.WriteFile(cmd.Path, text, 0o755); err != nil {
		t.Fatal(err)
	}
}

func init() {
	childJobs["exhaust-descriptors"] = exhaustDescriptors
	childJobs["exhaust-pages"] = exhaustPages
}

// exhaustDescriptors opens pipes until there is no descriptor left; the refusal must say so, and
// what is open must still close, with a call under way or not.
func exhaustDescriptors([]string) error {
	limit := syscall.Rlimit{Cur: 64, Max: 64}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	var ends []*syspipe.End
	for {
		w, r, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{IO: syspipe.Blocking})
		if errors.Is(err, syscall.EMFILE) {
			fmt.Fprintln(os.Stderr, err)
			break
		}
		if err != nil {
			return err
		}
		ends = append(ends, w, r)
	}
	for _, kind := range []syspipe.Kind{syspipe.FIFO, syspipe.SocketPair} {
		if _, _, err := syspipe.Open(kind, syspipe.Options{IO: syspipe.Blocking}); !errors.Is(err, syscall.EMFILE) {
			return fmt.Errorf("open %s without descriptors: %w", kind, err)
		}
	}
	for _, e := range ends {
		if err := e.Close(); err != nil {
			return err
		}
	}
	_, _, err := syspipe.Open(syspipe.FIFO, syspipe.Options{IO: syspipe.Blocking})
	return err
}

// exhaustPages opens pipes until the kernel gives this user smaller ones, which it does beyond
// fs.pipe-user-pages-soft, and asks one of those to grow.
func exhaustPages([]string) error {
	limit := syscall.Rlimit{Cur: 4096, Max: 4096}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		fmt.Fprintln(os.Stderr, err) // what there is may be enough
	}
	first, _, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{Capacity: 1 << 20, IO: syspipe.Blocking})
	if err != nil {
		return err
	}
	usual, err := first.Capacity()
	if err != nil {
		return err
	}
	for {
		w, _, err := syspipe.Open(syspipe.Anonymous, syspipe.Options{Capacity: usual, IO: syspipe.Blocking})
		var refused *syspipe.CapacityError
		if errors.As(err, &refused) && errors.Is(err, syscall.EPERM) && strings.Contains(err.Error(), "pipe-user-pages-soft") {
			fmt.Fprintln(os.Stderr, err)
			return nil
		}
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			fmt.Fprintln(os.Stderr, "out of descriptors before out of pages:", err)
			return nil
		}
		if err != nil {
			return err
		}
		_ = w // kept open by not closing it: the process ends soon
	}
}
