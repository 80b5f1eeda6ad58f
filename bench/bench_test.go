package bench

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe"
)

// announceUnits says before the first benchmark which way its units are better: benchstat does not
// know of latencies and wire bytes.
func announceUnits() {
	flag.Parse()
	if asked := flag.Lookup("test.bench"); asked != nil && asked.Value.String() != "" {
		fmt.Println(strings.Join(stat.BenchUnits(), "\n"))
	}
}

func BenchmarkStream(b *testing.B) {
	for _, framing := range []string{"raw", "ndjson", "content-length", "chunked:61440", "length-prefix"} {
		for _, size := range []int{256, 4 << 10, 64 << 10, 1 << 20} {
			Cells(b, Placed(cell(func(c *results.Cell) { c.Framing, c.Size = framing, size }))...)
		}
	}
}

// BenchmarkOther streams the framings that are for comparison alone: the tolerant reader of
// chunks, chunks of compressed text, and the two naive readers of lines.
func BenchmarkOther(b *testing.B) {
	for _, framing := range []string{"adaptive:61440", "chunked+zstd:61440", "ndjson-bytewise", "ndjson-rescan"} {
		for _, size := range []int{4 << 10, 64 << 10} {
			Cells(b, Placed(cell(func(c *results.Cell) { c.Framing, c.Size = framing, size }))...)
		}
	}
}

func BenchmarkRoundtrip(b *testing.B) {
	for _, framing := range []string{"raw", "ndjson", "content-length", "chunked:61440", "length-prefix"} {
		for _, size := range []int{256, 64 << 10} {
			Cells(b, Placed(cell(func(c *results.Cell) { c.Framing, c.Size, c.Pattern = framing, size, "roundtrip" }))...)
		}
	}
}

// BenchmarkIO is the same bytes with each way to wait, at both ends.
func BenchmarkIO(b *testing.B) {
	for _, io := range syspipe.IOs() {
		if io.Supported() == nil {
			Cells(b, Placed(cell(func(c *results.Cell) { c.Framing, c.Size, c.IO = "raw", 64<<10, io.String() }))...)
		}
	}
}

// BenchmarkPipe is the same bytes through each kind of pipe.
func BenchmarkPipe(b *testing.B) {
	for _, kind := range syspipe.Kinds() {
		if kind.Supported() == nil {
			Cells(b, Placed(cell(func(c *results.Cell) { c.Framing, c.Size, c.Pipe = "raw", 64<<10, string(kind) }))...)
		}
	}
}

// BenchmarkOwn is a framing that only this package's tests know.
func BenchmarkOwn(b *testing.B) { Framing(b, own{}, 4096) }

// own frames a message by a byte before it that says nothing.
type own struct{}

func (own) String() string { return "own" }

func (own) NewWriter(w io.Writer, _ ...framers.Option) framers.Writer { return &ownWriter{w: w} }

func (own) NewReader(r io.Reader, opts ...framers.Option) framers.Reader {
	return ownReader{framers.LengthPrefix().NewReader(r, opts...)}
}

type ownWriter struct {
	w     io.Writer
	frame []byte
}

func (w *ownWriter) WriteMessage(msg []byte) error {
	w.frame = append(w.frame[:0], 0, 0, 0, 0, '>')
	w.frame = append(w.frame, msg...)
	binary.BigEndian.PutUint32(w.frame, uint32(len(msg)+1))
	_, err := w.w.Write(w.frame)
	return err
}

type ownReader struct{ framers.Reader }

func (r ownReader) ReadMessage() ([]byte, error) {
	msg, err := r.Reader.ReadMessage()
	return bytes.TrimPrefix(msg, []byte(">")), err
}

func TestAFramingOfOnesOwnIsMeasured(t *testing.T) {
	for _, r := range collect(t, small(cell(func(c *results.Cell) { c.Framing = "own" }))) {
		for _, s := range r.Samples {
			if want := s.Messages * int64(r.Cell.Size+5); s.WireBytes != want {
				t.Errorf("%d bytes on the wire, not %d", s.WireBytes, want)
			}
		}
	}
}

func TestAFramingsBenchmarkHasTheSizesAskedFor(t *testing.T) {
	for _, c := range []struct {
		name                 string
		sizes                []int
		streamed, roundTrips int // sizes
	}{
		{"the usual", nil, 4, 2},
		{"one", []int{4096}, 1, 1},
		{"as many as the usual", []int{1000, 2000, 3000, 4000}, 4, 4},
	} {
		count := map[string]int{}
		for _, cell := range framingCells("own", c.sizes) {
			if cell.Framing == "own" && cell.Placement == Placed(cell)[0].Placement {
				count[cell.Pattern]++
			}
		}
		if count["stream"] != c.streamed || count["roundtrip"] != c.roundTrips {
			t.Errorf("%s: %v", c.name, count)
		}
	}
}

func TestAFramingThatWorkersDoNotKnowIsNotMeasured(t *testing.T) {
	for _, known := range []framers.Framing{own{}, framers.NDJSON()} {
		if err := checkRegistered(known); err != nil {
			t.Error(err)
		}
	}
	for name, says := range map[string]string{
		"mine":   "bench.Register",
		"ndjson": "a name of its own", // else the figures of framers' own would stand for it
		"own":    "a name of its own",
	} {
		if err := checkRegistered(renamed{own{}, name}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want something of %q", name, err, says)
		}
	}
}

// renamed is own under another name.
type renamed struct {
	own
	name string
}

func (r renamed) String() string { return r.name }

func TestABenchmarkReportsTheEnginesTime(t *testing.T) {
	c := cell()
	p := Plan{Seed: 1, Duration: time.Minute}
	s, err := p.Measure(t.Context(), c, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got := stat.BenchValues(c, s)[0]; got.Unit != "ns/op" || got.Value != float64(s.ElapsedNS)/10 {
		t.Errorf("%+v of %d ns for 10 messages", got, s.ElapsedNS)
	}
}
