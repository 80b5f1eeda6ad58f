package bench

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat/benchtext"
)

// usualBenchtime is how long a benchmark runs here unless the command line says otherwise: its
// slices are short and many, and a pass of all of them is to end within a minute.
const usualBenchtime = "100ms"

// announceUnits says before the first benchmark which way its units are better: benchstat does not
// know of latencies and wire bytes.
func announceUnits() {
	flag.Set("test.benchtime", usualBenchtime)
	flag.Parse()
	if asked := flag.Lookup("test.bench"); asked != nil && asked.Value.String() != "" {
		fmt.Println(strings.Join(benchtext.UnitLines(), "\n"))
	}
}

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

func TestAFramingThatWorkersDoNotKnowIsNotMeasured(t *testing.T) {
	for _, known := range []framers.Framing{own{}, framers.NDJSON()} {
		if err := CheckRegistered(known); err != nil {
			t.Error(err)
		}
	}
	for name, says := range map[string]string{
		"mine":   "bench.Register",
		"ndjson": "a name of its own", // else the figures of framers' own would stand for it
		"own":    "a name of its own",
	} {
		err := CheckRegistered(renamed{own{}, name})
		if err == nil || !strings.Contains(err.Error(), says) {
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

func TestAFramingNeedsANameOfItsOwn(t *testing.T) {
	for _, name := range []string{"ndjson", "own", ""} { // of framers, of one registered, none
		t.Run(name, func(t *testing.T) {
			defer func() {
				said := fmt.Sprint(recover())
				if !strings.Contains(said, fmt.Sprintf("the name %q is empty or taken", name)) {
					t.Errorf("Register: %s", said)
				}
			}()
			Register(renamed{own{}, name})
		})
	}
}

// Only framers can read an Option, so its value would stand in the record without any effect.
func TestAFramingOfOthersHasNoOptions(t *testing.T) {
	for name, set := range map[string]func(*results.Cell){
		"read buffer": func(c *results.Cell) { c.ReadBuffer = 4096 },
		"read offset": func(c *results.Cell) { c.ReadOffset = "64" },
		"write size":  func(c *results.Cell) { c.WriteSize = 256 },
	} {
		if err := Unsupported(cell(set)); err != nil {
			t.Errorf("%s of ndjson: %v", name, err)
		}
		other := func(c *results.Cell) { c.Framing = "own" }
		err := Unsupported(cell(set, other))
		if !IsUnsupported(err) || !strings.Contains(err.Error(), "own") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARunWithoutANameGetsOne(t *testing.T) {
	plan := small(cell(), cell(func(c *results.Cell) { c.Size = 256 }))
	plan.Run = ""
	w := results.NewWriter(io.Discard)
	var runs []string
	err := Run(t.Context(), plan, func(r results.Record) error {
		runs = append(runs, r.Run)
		return w.Write(r)
	})
	if err != nil || len(runs) != 2 || runs[0] != runs[1] {
		t.Errorf("runs %q: %v", runs, err)
	}
}
