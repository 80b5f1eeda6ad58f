package framers_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	"github.com/pipebench/pipebench/framers"
)

// frames cuts a message of n letters into frames of at most 64 KiB, each in one piece.
func frames(t *testing.T, letter string, n int) [][]byte {
	t.Helper()
	f, err := framers.Chunked(64 << 10)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for frame := range f.Frames(bytes.Repeat([]byte(letter), n)) {
		all = append(all, bytes.Join(frame, nil))
	}
	return all
}

// told is all that a reader tells of a stream, with options.
func told(r io.Reader, opts ...framers.Option) (list []string) {
	f, err := framers.Chunked(0)
	if err != nil {
		return []string{err.Error()}
	}
	in := f.NewReader(r, opts...)
	for {
		msg, err := in.ReadMessage()
		if err == io.EOF {
			return list
		}
		if err != nil {
			list = append(list, err.Error())
			var chunk *framers.ChunkError
			if errors.As(err, &chunk) {
				continue
			}
			return list
		}
		list = append(list, fmt.Sprintf("%d×%c, %d of them", len(msg), msg[0],
			bytes.Count(msg, msg[:1])))
	}
}

// A reader tells the same of frames that come in one read, and are joined where they are, and of
// those that come byte by byte.
func TestFramesAreJoinedAsTheyArePutTogether(t *testing.T) {
	a := frames(t, "a", 150_000) // three frames
	b := frames(t, "b", 65_536)  // two
	small := frames(t, "c", 10)[0]
	for _, c := range []struct {
		name string
		wire [][]byte
		opts []framers.Option
		want int // messages and errors
	}{
		{"two messages", [][]byte{a[0], a[1], a[2], b[0], b[1], small}, nil, 3},
		{"one between the frames of another", [][]byte{a[0], a[1], b[0], b[1], a[2]}, nil, 2},
		{"frames swapped", [][]byte{a[0], a[2], a[1], small}, nil, 2},
		{"a frame twice", [][]byte{a[0], a[0], a[1], a[2]}, nil, 2},
		{"the last frame lost", [][]byte{a[0], a[1], small}, nil, 2},
		{"just within the limit", [][]byte{b[0], b[1], small},
			[]framers.Option{framers.WithMaxMessage(65_536)}, 2},
		{"beyond the limit", [][]byte{b[0], b[1], small},
			[]framers.Option{framers.WithMaxMessage(65_535)}, 1},
		{"beyond what may be in flight", [][]byte{b[0], b[1], small},
			[]framers.Option{framers.WithMaxInFlight(0, 65_535)}, 2},
	} {
		wire := bytes.Join(c.wire, nil)
		whole := told(bytes.NewReader(wire), append(c.opts, framers.WithReadBuffer(len(wire)))...)
		bytewise := told(iotest.OneByteReader(bytes.NewReader(wire)), c.opts...)
		if fmt.Sprint(whole) != fmt.Sprint(bytewise) || len(whole) != c.want {
			t.Errorf("%s:\nin one read %q\nbyte by byte %q\nwant %d",
				c.name, whole, bytewise, c.want)
		}
	}
}
