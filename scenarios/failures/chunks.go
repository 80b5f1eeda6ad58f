package failures

import (
	"bytes"
	"io"
	"slices"

	"github.com/pipebench/pipebench/framers"
)

// faultyFrame is the size of a frame in brokenChunks, in bytes.
const faultyFrame = 1 << 10

// brokenChunks returns the chunks of several messages, one of each at a time, the beginning of a
// message, and messages with one fault each. Those consist of three frames; most faults are in or
// at the second frame.
func brokenChunks() ([]reading, error) {
	f, err := framers.Chunked(faultyFrame)
	if err != nil {
		return nil, err
	}
	msg := padded("faulty", 2500)
	frames := framesOf(f, msg)
	withNumbers := func(numbers string) []byte {
		return bytes.Replace(frames[1], []byte(":1:3:"), []byte(numbers), 1)
	}
	altered := slices.Clone(frames[1])
	altered[len(altered)-2] ^= 1
	all := []reading{framesInTurn(f), firstFrames(f)}
	for _, c := range []struct {
		part      string
		wire      [][]byte
		staysOpen bool
	}{
		{"swapped", [][]byte{frames[0], frames[2], frames[1]}, false},
		{"lost", [][]byte{frames[0], frames[2]}, false},
		{"lost-open", [][]byte{frames[0], frames[2]}, true},
		{"invalid/no-header", [][]byte{frames[0], []byte("hello\n"), frames[2]}, false},
		{"invalid/no-total", [][]byte{frames[0], withNumbers(":1:"), frames[2]}, false},
		{"invalid/index", [][]byte{frames[0], withNumbers(":3:3:"), frames[2]}, false},
		{"invalid/negative", [][]byte{frames[0], withNumbers(":-1:3:"), frames[2]}, false},
		{"invalid/total", [][]byte{frames[0], withNumbers(":1:4:"), frames[2]}, false},
		{"invalid/twice", [][]byte{frames[0], frames[1], frames[1], frames[2]}, false},
		{"invalid/altered", [][]byte{frames[0], altered, frames[2]}, false},
	} {
		all = append(all, reading{
			part: c.part, sent: [][]byte{msg}, wire: bytes.Join(c.wire, nil),
			open: openFraming(f), staysOpen: c.staysOpen,
		})
	}
	return all, nil
}

// framesOf returns the frames of a message, with the parts of each joined.
func framesOf(f framers.Chunker, msg []byte) [][]byte {
	var frames [][]byte
	for frame := range f.Frames(msg) {
		frames = append(frames, bytes.Join(frame, nil))
	}
	return frames
}

// framesInTurn returns a stream with the first frame of each of four messages, then the second
// frame of each, and so on.
func framesInTurn(f framers.Chunker) reading {
	c := reading{part: "in-turn", open: openFraming(f)}
	var queues [][][]byte
	for _, size := range []int{1_500, 5_000, 10_000, 20_000} {
		msg := padded("turn", size)
		c.sent = append(c.sent, msg)
		queues = append(queues, framesOf(f, msg))
	}
	for i := range queues[len(queues)-1] {
		for _, q := range queues {
			if i < len(q) {
				c.wire = append(c.wire, q[i]...)
			}
		}
	}
	return c
}

// firstFrames returns the first two of three frames, on a stream that stays open. A reader that
// reports chunks as they come delivers the data of both, though the message is not complete.
func firstFrames(f framers.Chunker) reading {
	c := reading{part: "shown-early", staysOpen: true}
	for _, frame := range framesOf(f, padded("early", 2500))[:2] {
		data := bytes.SplitN(frame, []byte(":"), 4)[3]
		c.sent = append(c.sent, bytes.TrimSuffix(data, []byte("\n")))
		c.wire = append(c.wire, frame...)
	}
	c.open = func(r io.Reader) nextMessage {
		var shown [][]byte
		in := f.NewReader(r, framers.WithProgress(func(c framers.Chunk) {
			shown = append(shown, bytes.Clone(c.Data))
		}))
		return func() ([]byte, error) {
			if len(shown) == 0 {
				_, err := in.ReadMessage() // appends to shown
				if len(shown) == 0 {
					return nil, err
				}
			}
			first := shown[0]
			shown = shown[1:]
			return first, nil
		}
	}
	return c
}

// partialReads returns lines that end just before, at and just after multiples of 4096 bytes, read
// in pieces of several sizes.
func partialReads() ([]reading, error) {
	var sent [][]byte
	for _, size := range []int{4094, 4095, 4096, 4097, 8191, 8192, 100, 12_287, 60} {
		sent = append(sent, padded("line", size))
	}
	wire := append(bytes.Join(sent, []byte("\n")), '\n')
	var all []reading
	for _, r := range []struct {
		name string
		open func(io.Reader) nextMessage
	}{
		{"lines", openFraming(framers.NDJSON())},
		{"rescan", openFraming(framers.Rescan())},
		{"as-printed", openPrinted},
	} {
		for _, piece := range []int{1, 100, 4095, 4096, 4097, 10_000} {
			all = append(all, reading{
				part: r.name, sent: sent, wire: wire, open: inPieces(piece, r.open),
			})
		}
	}
	return all, nil
}

// allowed is a limit on lines that is often recommended, in bytes.
const allowed = 16 << 20

// oversizedLines returns a line of exactly the allowed size, and a line of one byte more with a
// small line after it.
func oversizedLines() ([]reading, error) {
	exact := [][]byte{padded("exact", allowed)}
	beyond := [][]byte{padded("beyond", allowed+1), []byte(messageA)}
	limit := framers.WithMaxMessage(allowed)
	return []reading{
		{part: "exact", sent: exact, wire: bytes.Join(exact, []byte("\n")),
			open: openFraming(framers.NDJSON(), limit)},
		{part: "closes", sent: beyond, wire: bytes.Join(beyond, []byte("\n")),
			open: openFraming(framers.NDJSON(), limit), readsOn: true},
		{part: "skips", sent: beyond, wire: bytes.Join(beyond, []byte("\n")), readsOn: true,
			open: openFraming(framers.NDJSON(), limit, framers.WithPolicy(framers.Resync))},
	}, nil
}
