package framers_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
)

func TestCompressedCarriesEverything(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	noise := make([]byte, 100_000)
	rng := seeded(9)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	msgs := [][]byte{{}, []byte("x"), []byte("a\nb"), []byte("\n"), bytes.Repeat([]byte("=\n"), 5000), bytes.Repeat(every, 40), noise, []byte("last")}
	f := mustParse(t, "chunked+zstd:4096")
	wire := encode(t, f, msgs)
	for frame := range bytes.Lines(wire) {
		if len(frame) > 4096 || bytes.Count(frame, []byte(":")) < 3 {
			t.Fatalf("a frame of %d bytes: %.60q", len(frame), frame)
		}
	}
	for _, cut := range cuts {
		got, err := decode(f.NewReader(cut.Cut(bytes.NewReader(wire))))
		if err != io.EOF {
			t.Fatalf("%s: %v", cut.Name, err)
		}
		wantMessages(t, got, msgs)
	}
}

func TestCompressedShrinksWhatShrinks(t *testing.T) {
	f := mustParse(t, "chunked+zstd")
	text := []byte(strings.Repeat(`{"jsonrpc":"2.0","method":"notify","params":{"a":1}} `, 1000))
	if n := len(encode(t, f, [][]byte{text})); n > len(text)/20 {
		t.Errorf("%d bytes of %d", n, len(text))
	}
	if n := len(encode(t, f, [][]byte{[]byte("short")})); n != len("short")+43 {
		t.Errorf("a short message took %d bytes", n)
	}
}

func TestCompressedLimit(t *testing.T) {
	f := mustParse(t, "chunked+zstd")
	flat := func(n int) []byte { return bytes.Repeat([]byte("ab"), n/2) } // shrinks to nearly nothing
	wire := encode(t, f, [][]byte{flat(10_000), flat(10_002), flat(1 << 20), []byte("end")})
	r := f.NewReader(bytes.NewReader(wire), framers.WithMaxMessage(10_000), framers.WithPolicy(framers.Resync))
	if msg, err := r.ReadMessage(); err != nil || len(msg) != 10_000 {
		t.Errorf("at the limit: %d bytes, %v", len(msg), err)
	}
	for range 2 {
		var large *framers.TooLargeError
		if _, err := r.ReadMessage(); !errors.As(err, &large) || large.Size != 10_001 || !bytes.Equal(large.Head, flat(1024)) {
			t.Errorf("beyond the limit: %v, head of %d bytes", err, len(large.Head))
		}
	}
	if msg, err := r.ReadMessage(); err != nil || string(msg) != "end" {
		t.Errorf("then: %q, %v", msg, err)
	}
}

func TestCompressedDamage(t *testing.T) {
	for name, wire := range map[string]string{
		"no form":       "a:0:1:\n",
		"nothing else":  "a:0:1:1\n",
		"unknown form":  "a:0:1:7x\n",
		"no zstd":       "a:0:1:1x\n",
		"cut escape":    "a:0:1:1x=\n",
		"wrong escape":  "a:0:1:1=x\n",
		"of two chunks": "a:0:2:1\na:1:2:rubbish\n",
	} {
		r := mustParse(t, "chunked+zstd").NewReader(strings.NewReader(wire + "b:0:1:0next\n"))
		var chunk *framers.ChunkError
		if _, err := r.ReadMessage(); !errors.Is(err, framers.ErrPacked) || !errors.As(err, &chunk) || chunk.ID != "a" {
			t.Errorf("%s: %v", name, err)
		}
		if msg, err := r.ReadMessage(); err != nil || string(msg) != "next" {
			t.Errorf("%s, then: %q, %v", name, msg, err)
		}
	}
}

// A limit below zstd's smallest window, and messages of which most bytes are escaped, are limits
// and messages as others.
func TestCompressedAtTheLimit(t *testing.T) {
	escaped := make([]byte, 60_000)
	for i := range escaped {
		escaped[i] = '='
		if i%2 == 1 { // no four bytes repeat soon, so that zstd takes them as they are
			escaped[i] = byte(i/2%256 ^ i/512*37)
		}
	}
	escaped[0] = '\n'
	for _, msg := range [][]byte{
		[]byte("\n"), []byte("a\n"), bytes.Repeat([]byte("a\n"), 50), bytes.Repeat([]byte("ab"), 300),
		bytes.Repeat([]byte("=\n"), 511), append(message(700), '\n'), append(message(90_000), '\n'), escaped,
	} {
		f := mustParse(t, "chunked+zstd:64")
		wire := encode(t, f, [][]byte{msg, msg})
		got, err := decode(f.NewReader(bytes.NewReader(wire), framers.WithMaxMessage(len(msg))))
		if err != io.EOF {
			t.Fatalf("%d bytes %.10q: after %d messages: %v", len(msg), msg, len(got), err)
		}
		wantMessages(t, got, [][]byte{msg, msg})
		var large *framers.TooLargeError
		r := f.NewReader(bytes.NewReader(wire), framers.WithMaxMessage(len(msg)-1))
		if len(msg) == 1 {
			continue // no limit is below it
		}
		if _, err := r.ReadMessage(); !errors.As(err, &large) || large.Limit != int64(len(msg)-1) {
			t.Errorf("%d bytes against a limit of one less: %v", len(msg), err)
		}
	}
}

// A message far beyond the limit ends the stream with a TooLargeError, though it takes few bytes on
// the wire.
func TestCompressedFarBeyondTheLimit(t *testing.T) {
	f := mustParse(t, "chunked+zstd")
	flat := bytes.Repeat([]byte("ab"), 5<<19)
	wire := encode(t, f, [][]byte{flat, []byte("next")})
	r := f.NewReader(bytes.NewReader(wire), framers.WithMaxMessage(1<<20))
	var large *framers.TooLargeError
	_, err := r.ReadMessage()
	if !errors.As(err, &large) || large.Size != 1<<20+1 || large.Limit != 1<<20 || !bytes.Equal(large.Head, flat[:1024]) {
		t.Fatalf("got %v", err)
	}
	if _, again := r.ReadMessage(); again != err {
		t.Errorf("then: %v", again)
	}
}

// A frame that declares more than its blocks can make is damaged, whatever the limit, and nothing
// is allocated for it.
func TestCompressedDeclarations(t *testing.T) {
	for name, declared := range map[string]uint64{"2^62": 1 << 62, "3 GiB": 3 << 30, "just below 2^64": math.MaxUint64} {
		frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0} // single segment, 8 bytes of size
		frame = binary.LittleEndian.AppendUint64(frame, declared)
		frame = append(frame, 0x11, 0, 0, 'a', 'b') // a last block of two bytes as they are
		for len(frame) < 50 {
			frame = append(frame, 'x')
		}
		wire := "a:0:1:1" + strings.NewReplacer("\n", "=n", "=", "==").Replace(string(frame)) + "\nb:0:1:0next\n"
		for _, limit := range []int{-1, 1000, math.MaxInt32} {
			r := mustParse(t, "chunked+zstd").NewReader(strings.NewReader(wire), framers.WithMaxMessage(limit))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := r.ReadMessage()
			runtime.ReadMemStats(&after)
			if !errors.Is(err, framers.ErrPacked) {
				t.Errorf("%s, limit %d: %v", name, limit, err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
				t.Errorf("%s, limit %d: allocated %d bytes", name, limit, got)
			}
			if msg, err := r.ReadMessage(); err != nil || string(msg) != "next" {
				t.Errorf("%s, limit %d, then: %q, %v", name, limit, msg, err)
			}
		}
	}
}
