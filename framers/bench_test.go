package framers_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/pipebench/pipebench/framers"
)

// sizes are the message sizes of the figures, in bytes.
var benchSizes = []int{256, 4 << 10, 64 << 10, 1 << 20, 16 << 20}

// A carriage sends messages through a pipe with one goroutine and receives them with another.
type carriage struct {
	r, w    *os.File
	send    func([]byte) error
	receive func() ([]byte, error)
	msg     []byte
	counts  chan int
	errs    chan error
}

func newCarriage(t testing.TB, s subject, size int) *carriage {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &carriage{r: r, w: w, msg: message(size), counts: make(chan int), errs: make(chan error, 1)}
	c.send, c.receive = s.open(r, w, size)
	go func() {
		for n := range c.counts {
			for range n {
				if err := c.send(c.msg); err != nil {
					c.errs <- err
					c.w.Close()
					return
				}
			}
		}
	}()
	t.Cleanup(func() {
		close(c.counts)
		r.Close()
		w.Close()
	})
	return c
}

// carry sends n messages and returns when the last has been received.
func (c *carriage) carry(n int) error {
	c.counts <- n
	for range n {
		msg, err := c.receive()
		if err != nil {
			select {
			case sent := <-c.errs:
				err = sent
			default:
			}
			return err
		}
		if msg != nil && (len(msg) != len(c.msg) || msg[0] != c.msg[0] || msg[len(msg)-1] != c.msg[len(msg)-1]) {
			return fmt.Errorf("received %d bytes of %d, or others", len(msg), len(c.msg))
		}
	}
	return nil
}

// oneCore has everything run on one core, where the bytes stay in its cache: the steadiest figure,
// and CPU per byte.
func oneCore(t testing.TB) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// BenchmarkPipe measures every subject through a real pipe. For ratios, prefer TestFigures, which
// interleaves.
func BenchmarkPipe(b *testing.B) {
	for _, s := range subjects() {
		for _, size := range benchSizes {
			b.Run(fmt.Sprintf("framing=%s/impl=%s/size=%d", s.format, s.name, size), func(b *testing.B) {
				oneCore(b)
				c := newCarriage(b, s, size)
				if err := c.carry(3); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(size))
				b.ReportAllocs()
				b.ResetTimer()
				if err := c.carry(b.N); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

var (
	figures = flag.Int("figures", 0, "rounds of the table of figures; 0 leaves it out")
	only    = flag.String("only", "", "format to measure for the table of figures, beside raw")
)

// TestFigures prints the package's table: goodput of every subject, its ratio to raw, and to raw
// received whole, medians of interleaved rounds. Each format is measured apart: what others hold of
// the cache is not its cost.
//
//	go test ./framers -run TestFigures -figures 15
func TestFigures(t *testing.T) {
	if *figures == 0 {
		t.Skip("asked for with -figures=15")
	}
	oneCore(t)
	tw := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer tw.Flush()
	fmt.Fprintln(tw, "format\timpl\tsize\tMB/s\tns/op\tof raw\tof whole\t")
	for _, format := range formats() {
		if *only != "" && *only != format {
			continue
		}
		for _, size := range benchSizes {
			printFigures(t, tw, format, size)
		}
	}
}

// formats are those of the subjects, but raw, which stands beside each.
func formats() []string {
	var f []string
	for _, s := range subjects() {
		if s.format != "raw" && !slices.Contains(f, s.format) {
			f = append(f, s.format)
		}
	}
	return f
}

func printFigures(t *testing.T, tw *tabwriter.Writer, format string, size int) {
	chosen := slices.DeleteFunc(subjects(), func(s subject) bool { return s.format != "raw" && s.format != format })
	times := measure(t, chosen, size)
	for i, s := range chosen {
		n := max((64<<20)/size, 8)
		per := float64(median(times[i])) / float64(n)
		fmt.Fprintf(tw, "%s\t%s\t%d\t%.0f\t%.0f\t%.2f\t%.2f\t\n",
			format, s.name, size, float64(size)/per*1e3, per, ratio(times[0], times[i]), ratio(times[1], times[i]))
	}
}

// ratio is the median of a's times over b's, round by round.
func ratio(a, b []time.Duration) float64 {
	r := make([]float64, len(a))
	for i := range r {
		r[i] = float64(a[i]) / float64(b[i])
	}
	return median(r)
}

// measure carries the same bytes with each subject in turn, round after round.
func measure(t *testing.T, chosen []subject, size int) [][]time.Duration {
	n := max((64<<20)/size, 8)
	times := make([][]time.Duration, len(chosen))
	carriages := make([]*carriage, len(chosen))
	for i, s := range chosen {
		carriages[i] = newCarriage(t, s, size)
		if err := carriages[i].carry(max(n/4, 3)); err != nil {
			t.Fatalf("%s %s: %v", s.format, s.name, err)
		}
	}
	for range *figures {
		for i, c := range carriages {
			runtime.GC() // what one subject leaves behind is not the next one's cost
			start := time.Now()
			if err := c.carry(n); err != nil {
				t.Fatalf("%s %s: %v", chosen[i].format, chosen[i].name, err)
			}
			times[i] = append(times[i], time.Since(start))
		}
	}
	return times
}

func median[T float64 | time.Duration](v []T) T {
	s := slices.Clone(v)
	slices.Sort(s)
	return s[len(s)/2]
}

// BenchmarkBuffered sends small messages, 240 to a Flush.
func BenchmarkBuffered(b *testing.B) {
	const batch = 240
	buffered := subject{"ndjson", "buffered", func(r, w *os.File, _ int) (
		func([]byte) error, func() ([]byte, error),
	) {
		c := bufio.NewWriterSize(w, 64<<10)
		dst := framers.NDJSON().NewWriter(c)
		sent := 0
		send := func(msg []byte) error {
			if err := dst.WriteMessage(msg); err != nil {
				return err
			}
			if sent++; sent%batch != 0 {
				return nil
			}
			return c.Flush()
		}
		return send, framers.NDJSON().NewReader(r).ReadMessage
	}}
	for _, size := range benchSizes[:2] {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			oneCore(b)
			c := newCarriage(b, buffered, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			if err := c.carry((b.N + batch - 1) / batch * batch); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkWriteOnly and BenchmarkReadOnly measure an end without a pipe.
func BenchmarkWriteOnly(b *testing.B) {
	for _, spec := range []string{"ndjson", "length-prefix", "content-length", "chunked"} {
		b.Run("framing="+spec, func(b *testing.B) {
			w := mustParse(b, spec).NewWriter(io.Discard)
			msg := message(256)
			for b.Loop() {
				w.WriteMessage(msg)
			}
		})
	}
}

func BenchmarkReadOnly(b *testing.B) {
	for _, spec := range []string{"ndjson", "length-prefix", "content-length", "chunked"} {
		b.Run("framing="+spec, func(b *testing.B) {
			f := mustParse(b, spec)
			var msgs [][]byte
			for range 200 {
				msgs = append(msgs, message(256))
			}
			r := f.NewReader(&repeating{wire: encode(b, f, msgs)})
			for b.Loop() {
				r.ReadMessage()
			}
		})
	}
}

// BenchmarkInterleaved reads messages of 1 MB whose frames come in turns.
func BenchmarkInterleaved(b *testing.B) {
	f, err := framers.Chunked(60 << 10)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			msg := message(1_000_000)
			frames := make([][][]byte, n)
			for i := range n {
				for pieces := range f.Frames(msg) {
					frames[i] = append(frames[i], bytes.Join(pieces, nil))
				}
			}
			var wire []byte
			for k := range frames[0] {
				for i := range n {
					wire = append(wire, frames[i][k]...)
				}
			}
			r := f.NewReader(&repeating{wire: wire})
			b.SetBytes(int64(len(msg)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.ReadMessage(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
