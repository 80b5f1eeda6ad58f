package framers_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
)

// A Reader makes the same of a stream however it is cut: streams of frames, oddities and damage are
// drawn, and each is read whole, byte by byte, and in random pieces.
func TestEveryCutGivesTheSame(t *testing.T) {
	t.Parallel()
	streams := 150
	if testing.Short() {
		streams = 30
	}
	for _, spec := range fuzzed {
		for seed := range uint64(streams) {
			wire := drawStream(seeded(seed), spec)
			for flags := range 4 {
				opts := fuzzOptions(flags&1 != 0, flags&2 != 0, true)
				decodeAnyhow(t, spec, wire, seed, opts)
			}
		}
	}
}

// drawStream returns a stream in which half of the parts are right.
func drawStream(rng *rand.Rand, spec string) []byte {
	var wire []byte
	for range 1 + rng.IntN(8) {
		wire = append(wire, drawPart(rng, spec)...)
	}
	if rng.IntN(3) == 0 {
		wire = wire[:rng.IntN(len(wire)+1)]
	}
	return wire
}

func drawPart(rng *rand.Rand, spec string) string {
	body := strings.Repeat("x", lengthNear(rng))
	id := []string{"a", "b", "0123abcd-4567-89ab-cdef-0123456789ab"}[rng.IntN(3)]
	newline := []string{"\n", "\r\n"}[rng.IntN(2)]
	switch rng.IntN(10) {
	case 0:
		return strings.Repeat(" ", lengthNear(rng)) + newline
	case 1:
		return strings.Repeat("\t \r", lengthNear(rng)/3) + newline
	case 2:
		return body + newline
	case 3:
		return newline
	case 4:
		return strings.Repeat("0:", rng.IntN(4)) + newline
	}
	switch {
	case spec == "content-length":
		return fmt.Sprintf("Content-Length: %d%s%s%s", len(body), newline, newline, body)
	case spec == "length-prefix":
		return string([]byte{0, 0, byte(len(body) >> 8), byte(len(body))}) + body
	case strings.HasPrefix(spec, "ndjson"):
		return strings.Repeat(" ", rng.IntN(3)) + body + newline
	}
	total := 1 + rng.IntN(3)
	return fmt.Sprintf("%s:%d:%d:%s\n", id, rng.IntN(total), total, body)
}

// lengthNear draws a length at or around one that a Reader treats apart.
func lengthNear(rng *rand.Rand) int {
	marks := []int{0, 2, 36, 64, 79, 80, 81, 100, 199, 200, 201, 300}
	return max(0, marks[rng.IntN(len(marks))]+rng.IntN(3)-1)
}

// A line of white space beyond what an error quotes is no frame, in one read or in many.
func TestALongBlankLineIsNoFrame(t *testing.T) {
	for _, n := range []int{1, 79, 80, 81, 200, 5000} {
		wire := strings.Repeat(" ", n) + "\na:0:1:x\n"
		want := []string{"x", "EOF"}
		if n > 80 {
			want = []string{"malformed", "x", "EOF"}
		}
		for _, cut := range cuts {
			r := mustParse(t, "chunked").NewReader(cut.Cut(strings.NewReader(wire)))
			if got := outcomes(r); !slices.Equal(got, want) {
				t.Errorf("%d spaces, %s: got %q, want %q", n, cut.Name, got, want)
			}
		}
	}
}

// The largest numbers are limits like others.
func TestTheLargestLimits(t *testing.T) {
	for _, spec := range append([]string{"raw", "raw:7"}, suite...) {
		f := mustParse(t, spec)
		msgs := [][]byte{message(7), message(7)}
		wire := encode(t, f, msgs)
		for _, most := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt - 4096, math.MaxInt / 2, math.MinInt} {
			for name, opt := range map[string]framers.Option{
				"WithMaxMessage":  framers.WithMaxMessage(most),
				"WithMaxInFlight": framers.WithMaxInFlight(most, most),
				"WithWriteSize":   framers.WithWriteSize(most),
				"WithReadOffset":  framers.WithReadOffset(most),
			} {
				for _, cut := range cuts {
					got, err := decode(f.NewReader(cut.Cut(bytes.NewReader(wire)), opt))
					if err.Error() != "EOF" {
						t.Fatalf("%s, %s(%d), %s: %v", spec, name, most, cut.Name, err)
					}
					if !bytes.Equal(bytes.Join(got, nil), bytes.Join(msgs, nil)) {
						t.Errorf("%s, %s(%d), %s: other messages", spec, name, most, cut.Name)
					}
				}
				var sent bytes.Buffer
				if err := f.NewWriter(&sent, opt).WriteMessage(msgs[0]); err != nil {
					t.Errorf("%s, %s(%d): %v", spec, name, most, err)
				}
			}
		}
	}
}
