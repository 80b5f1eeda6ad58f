package syspipe_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// childJob names, in the environment of a child process, what the test binary is to do instead of
// testing.
const childJob = "SYSPIPE_TEST_CHILD"

// TestMain makes the process fit for blocking ends, as the package comment asks.
func TestMain(m *testing.M) {
	if job := os.Getenv(childJob); job != "" {
		if err := childJobs[job](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	runtime.GOMAXPROCS(8)
	debug.SetGCPercent(-1)
	os.Exit(m.Run())
}

// deadline is how long anything may take before a test gives up on it.
const deadline = 2 * time.Minute

// within fails the test when f does not come back in time.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(deadline):
		t.Fatalf("%s: not done after %v", what, deadline)
	}
}

// open makes a pipe with both ends waiting as io says, closed with the test; it skips what this
// system lacks.
func open(t *testing.T, kind syspipe.Kind, capacity int, io syspipe.IO) (w, r *syspipe.End) {
	t.Helper()
	skipUnsupported(t, kind.Supported())
	skipUnsupported(t, io.Supported())
	w, r, err := syspipe.Open(kind, syspipe.Options{Capacity: capacity, IO: syspipe.Blocking})
	skipUnsupported(t, err)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(); r.Close() })
	for _, e := range []*syspipe.End{w, r} {
		err := e.SetIO(io)
		skipUnsupported(t, err)
		if err != nil {
			t.Fatal(err)
		}
	}
	return w, r
}

// everyPipe runs f for each kind and io of this system.
func everyPipe(t *testing.T, f func(t *testing.T, kind syspipe.Kind, io syspipe.IO)) {
	for _, kind := range syspipe.Kinds() {
		for _, io := range []syspipe.IO{syspipe.Poller, syspipe.Blocking, syspipe.Poll, syspipe.Spin, syspipe.Sleep(time.Millisecond)} {
			t.Run(fmt.Sprintf("%s/%s", kind, io), func(t *testing.T) {
				skipUnsupported(t, kind.Supported())
				skipUnsupported(t, io.Supported())
				f(t, kind, io)
			})
		}
	}
}

// pattern returns n bytes of which no two stretches of 251 bytes at other offsets are alike.
func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i % 251)
	}
	return p
}

// drain reads to the end on a goroutine of its own.
func drain(r io.Reader) <-chan []byte {
	all := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(r)
		all <- b
	}()
	return all
}

// skipUnsupported skips the test where the system lacks what it is about. An error that says so
// without naming the system is a failure.
func skipUnsupported(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, errors.ErrUnsupported) {
		return
	}
	if !strings.Contains(err.Error(), runtime.GOOS) {
		t.Fatalf("error %q does not name %s", err, runtime.GOOS)
	}
	t.Skip(err)
}
