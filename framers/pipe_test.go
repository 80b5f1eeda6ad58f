package framers_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/pipebench/pipebench/framers"
)

// osPipe returns the ends of a pipe, closed with the test.
func osPipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return r, w
}

// A write that a deadline ends before its first byte can be made again.
func TestWriterKeepsDeadlinesOfFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("pipes of os.Pipe have no deadlines on windows")
	}
	r, file := osPipe(t)
	w := framers.NDJSON().NewWriter(file)
	if err := file.SetWriteDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteMessage(message(200_000)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
	if err := file.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() { sent <- w.WriteMessage(message(200_000)) }()
	got, err := framers.NDJSON().NewReader(r).ReadMessage()
	if err != nil || !bytes.Equal(got, message(200_000)) {
		t.Errorf("without one: received %d bytes, %v", len(got), err)
	}
	if err := <-sent; err != nil {
		t.Errorf("without one: %v", err)
	}
}

func TestPipeWithoutAReader(t *testing.T) {
	r, w := osPipe(t)
	r.Close()
	for _, spec := range suite {
		for _, n := range []int{10, 100_000, 1 << 20} {
			if err := mustParse(t, spec).NewWriter(w).WriteMessage(message(n)); err == nil {
				t.Errorf("%s, %d bytes: no error", spec, n)
			}
		}
	}
}

func TestFileOnDisk(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := [][]byte{message(50_000), message(500_000), message(3)}
	w := framers.NDJSON().NewWriter(f)
	for _, msg := range want {
		if err := w.WriteMessage(msg); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	got, err := decode(framers.NDJSON().NewReader(f))
	if err != io.EOF {
		t.Fatal(err)
	}
	wantMessages(t, got, want)
}

// Through a real pipe, of its own capacity and around it, both ends allocating nothing.
func TestPipe(t *testing.T) {
	for _, s := range subjects() {
		if s.name != "framers" {
			continue
		}
		for _, size := range []int{1, 61_439, 65_535, 65_536, 65_537, 300_000} {
			c := newCarriage(t, s, size)
			if err := c.carry(5); err != nil {
				t.Fatalf("%s, %d bytes: %v", s.format, size, err)
			}
			if a := testing.AllocsPerRun(10, func() { c.carry(10) }); a >= 10 {
				t.Errorf("%s, %d bytes: %.1f allocations for 10 messages", s.format, size, a)
			}
		}
	}
}
