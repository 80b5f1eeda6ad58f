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
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func newFile(t testing.TB, f *os.File) *framers.File {
	t.Helper()
	file, err := framers.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// A gather list larger than the pipe is written in as many calls as it takes, each byte once and in
// order.
func TestFileWritesEverything(t *testing.T) {
	for _, count := range []int{0, 1, 3, 3000} {
		r, w := osPipe(t)
		var bufs [][]byte
		for i := range count {
			bufs = append(bufs, message(i*7%500), nil)
		}
		want := bytes.Join(bufs, nil)
		before := make([][]byte, len(bufs))
		copy(before, bufs)
		got := make(chan []byte)
		go func() {
			b, _ := io.ReadAll(&cutReader{r: r, rand: seeded(5), most: 1000})
			got <- b
		}()
		n, err := newFile(t, w).Writev(bufs)
		w.Close()
		if b := <-got; n != int64(len(want)) || err != nil || !bytes.Equal(b, want) {
			t.Errorf("%d pieces: wrote %d of %d bytes, %v; they came: %v", count, n, len(want), err, bytes.Equal(b, want))
		}
		for i := range bufs {
			if len(bufs[i]) != len(before[i]) {
				t.Fatalf("%d pieces: the list changed", count)
			}
		}
	}
}

func TestFileKeepsDeadlines(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("pipes of os.Pipe have no deadlines on windows")
	}
	_, w := osPipe(t)
	file := newFile(t, w)
	if err := w.SetWriteDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	n, err := file.Writev([][]byte{message(1 << 20), message(10)})
	if !errors.Is(err, os.ErrDeadlineExceeded) || n != 0 {
		t.Errorf("after the deadline: wrote %d, %v", n, err)
	}
	if err := w.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if n, err := file.Writev([][]byte{message(10), message(5)}); n != 15 || err != nil {
		t.Errorf("without one: wrote %d, %v", n, err)
	}
}

func TestFileWithoutAReader(t *testing.T) {
	r, w := osPipe(t)
	r.Close()
	n, err := newFile(t, w).Writev([][]byte{message(10), message(5)})
	if n != 0 || err == nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	for _, spec := range []string{"ndjson", "chunked"} {
		if err := mustParse(t, spec).NewWriter(w).WriteMessage(message(100_000)); err == nil {
			t.Errorf("%s: no error", spec)
		}
	}
}

func TestFileThatIsNone(t *testing.T) {
	if _, err := framers.NewFile(nil); err == nil {
		t.Error("nil is a file")
	}
	_, w := osPipe(t)
	file := newFile(t, w)
	w.Close()
	if _, err := file.Writev([][]byte{message(3)}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed file: %v", err)
	}
}

// A regular file takes gather lists too, at its offset.
func TestFileOnDisk(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := framers.NDJSON().NewWriter(f)
	for range 2 {
		if err := w.WriteMessage(message(50_000)); err != nil {
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
	wantMessages(t, got, [][]byte{message(50_000), message(50_000)})
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
