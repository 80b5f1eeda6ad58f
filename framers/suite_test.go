package framers_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/framers/framerstest"
	"github.com/pipebench/pipebench/framers/internal/pieces"
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

// message returns n printable bytes.
func message(n int) []byte { return pieces.Message(n) }

// cuts are the ways in which a stream can come.
var cuts = pieces.Cuts

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

// An optioned framing is used with opts.
type optioned struct {
	framers.Framing
	opts []framers.Option
}

func (f optioned) NewWriter(w io.Writer, _ ...framers.Option) framers.Writer {
	return f.Framing.NewWriter(w, f.opts...)
}

func (f optioned) NewReader(r io.Reader, _ ...framers.Option) framers.Reader {
	return f.Framing.NewReader(r, f.opts...)
}

func TestContract(t *testing.T) {
	t.Parallel()
	for _, spec := range suite {
		buffers := []int{16, 1000, 0}
		if strings.HasPrefix(spec, "ndjson-") {
			buffers = []int{0} // their Readers have none to choose
		}
		for _, buffer := range buffers {
			t.Run(fmt.Sprintf("%s/buffer=%d", spec, buffer), func(t *testing.T) {
				opts := []framers.Option{framers.WithReadBuffer(buffer)}
				framerstest.Check(t, optioned{mustParse(t, spec), opts})
			})
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
				t.Run(fmt.Sprintf("%s/%s/policy=%d", spec, c.Name, policy), func(t *testing.T) {
					r := f.NewReader(c.Cut(bytes.NewReader(wire)), framers.WithMaxMessage(limit),
						framers.WithPolicy(policy), framers.WithReadBuffer(64))
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
