package framers_test

import (
	"bytes"
	"errors"
	"io"
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
		got, err := decode(f.NewReader(cut.cut(bytes.NewReader(wire))))
		if err != io.EOF {
			t.Fatalf("%s: %v", cut.name, err)
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
