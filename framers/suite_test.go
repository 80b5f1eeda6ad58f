package framers_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pipebench/pipebench/framers"
)

// mustParse returns the framing of a spec.
func mustParse(t testing.TB, spec string) framers.Framing {
	t.Helper()
	f, err := framers.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// message returns n printable bytes that no two offsets share for long.
func message(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('!' + r.IntN(94))
	}
	return b
}

// encode returns the wire form of messages.
func encode(t testing.TB, f framers.Framing, msgs [][]byte, opts ...framers.Option) []byte {
	t.Helper()
	var wire bytes.Buffer
	w := f.NewWriter(&wire, opts...)
	for i, m := range msgs {
		if err := w.WriteMessage(m); err != nil {
			t.Fatalf("write message %d of %d bytes: %v", i, len(m), err)
		}
	}
	return wire.Bytes()
}

// decode returns copies of all messages, and what ended them.
func decode(r framers.Reader) (msgs [][]byte, err error) {
	for {
		m, err := r.ReadMessage()
		if err != nil {
			return msgs, err
		}
		msgs = append(msgs, append([]byte{}, m...))
	}
}

func wantMessages(t testing.TB, got, want [][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d messages, want %d", len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("message %d: got %d bytes %.60q, want %d bytes %.60q", i, len(got[i]), got[i], len(want[i]), want[i])
		}
	}
}

// A cutReader gives what r has in random pieces of at most most bytes.
type cutReader struct {
	r    io.Reader
	rand *rand.Rand
	most int
}

func (c *cutReader) Read(b []byte) (int, error) {
	return c.r.Read(b[:min(len(b), 1+c.rand.IntN(c.most))])
}

// cuts are the ways in which a stream can come.
var cuts = []struct {
	name string
	cut  func(io.Reader) io.Reader
}{
	{"whole", func(r io.Reader) io.Reader { return r }},
	{"one byte a read", iotest.OneByteReader},
	{"half of each read", iotest.HalfReader},
	{"error with the last bytes", iotest.DataErrReader},
	{"random pieces", func(r io.Reader) io.Reader { return &cutReader{r, rand.New(rand.NewPCG(7, 7)), 100} }},
	{"pieces of 4096", func(r io.Reader) io.Reader { return &cutReader{r, rand.New(rand.NewPCG(8, 8)), 4096} }},
}

// suite has each framing of the package but raw, with sizes small enough that frames end
// everywhere.
var suite = specs("", ":64", ":100", ":4096")

// specs returns the spec of each framing that Parse knows, once with each size if it takes one. Raw
// is left out: it tells no messages apart.
func specs(sizes ...string) []string {
	var all []string
	for _, name := range framers.FormNames() {
		if name == "raw" {
			continue
		}
		if _, err := framers.Parse(name + ":64"); err != nil { // takes no size
			all = append(all, name)
			continue
		}
		for _, size := range sizes {
			all = append(all, name+size)
		}
	}
	return all
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	sizes := []int{1, 2, 3, 63, 64, 65, 99, 100, 101, 4095, 4096, 4097, 65535, 65536, 65537, 61440 - 1, 61440, 61440 + 1, 10}
	for _, spec := range suite {
		f := mustParse(t, spec)
		var msgs [][]byte
		for _, n := range sizes {
			msgs = append(msgs, message(n))
		}
		wire := encode(t, f, msgs)
		buffers := []int{16, 1000, 0}
		if strings.HasPrefix(spec, "ndjson-") {
			buffers = []int{0} // their Readers have none to choose
		}
		for _, c := range cuts {
			for _, buffer := range buffers {
				t.Run(fmt.Sprintf("%s/%s/buffer=%d", spec, c.name, buffer), func(t *testing.T) {
					got, err := decode(f.NewReader(c.cut(bytes.NewReader(wire)), framers.WithReadBuffer(buffer)))
					if err != io.EOF {
						t.Fatalf("after %d messages: %v", len(got), err)
					}
					wantMessages(t, got, msgs)
				})
			}
		}
	}
}

func TestLimit(t *testing.T) {
	const limit = 1000
	for _, spec := range suite {
		f := mustParse(t, spec)
		wire := encode(t, f, [][]byte{message(limit), message(limit + 1), message(3)})
		for _, c := range cuts {
			for _, policy := range []framers.Policy{framers.Close, framers.Resync} {
				t.Run(fmt.Sprintf("%s/%s/policy=%d", spec, c.name, policy), func(t *testing.T) {
					r := f.NewReader(c.cut(bytes.NewReader(wire)), framers.WithMaxMessage(limit), framers.WithPolicy(policy), framers.WithReadBuffer(64))
					if m, err := r.ReadMessage(); err != nil || !bytes.Equal(m, message(limit)) {
						t.Fatalf("a message of the limit: %d bytes, %v", len(m), err)
					}
					var large *framers.TooLargeError
					if _, err := r.ReadMessage(); !errors.As(err, &large) {
						t.Fatalf("a message beyond the limit: %v", err)
					}
					if large.Size != limit+1 || large.Limit != limit {
						t.Errorf("got size %d limit %d, want %d and %d", large.Size, large.Limit, limit+1, limit)
					}
					m, err := r.ReadMessage()
					if policy == framers.Close {
						if err != error(large) {
							t.Fatalf("after the limit under Close: %v", err)
						}
						return
					}
					if !bytes.Equal(large.Head, message(limit+1)) {
						t.Errorf("head: got %q", large.Head)
					}
					if err != nil || !bytes.Equal(m, message(3)) {
						t.Fatalf("after the limit under Resync: %q, %v", m, err)
					}
				})
			}
		}
	}
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// foreign is a framing that is not of the package.
type foreign struct{}

func (foreign) String() string                                            { return "foreign" }
func (foreign) NewWriter(w io.Writer, _ ...framers.Option) framers.Writer { return foreignWriter{w} }
func (foreign) NewReader(io.Reader, ...framers.Option) framers.Reader     { return nil }

type foreignWriter struct{ w io.Writer }

func (f foreignWriter) WriteMessage(msg []byte) error {
	_, err := f.w.Write(append([]byte("<"), append(msg, '>')...))
	return err
}
