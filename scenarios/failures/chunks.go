package failures

import (
	"bytes"
	"io"
	"slices"

	"github.com/pipebench/pipebench/framers"
)

// brokenChunks returns streams of chunks, each with a reader to try on it. In most of them, a
// message of three frames has one fault.
func brokenChunks() ([]reading, error) {
	const frameSize = 1 << 10
	f, err := framers.Chunked(frameSize)
	if err != nil {
		return nil, err
	}
	msg := padded("faulty", 2500)
	frames := framesOf(f, msg)
	faulty := func(part string, wire ...[]byte) reading {
		return reading{
			part: part, sent: [][]byte{msg}, wire: bytes.Join(wire, nil), open: openFraming(f),
		}
	}
	// withSecond returns a stream whose second frame is replaced by another.
	withSecond := func(part string, frame []byte) reading {
		return faulty(part, frames[0], frame, frames[2])
	}
	// withNumbers returns a stream in which the text "numbers" replaces the index and the total in
	// the second frame's header.
	withNumbers := func(part, numbers string) reading {
		return withSecond(part, bytes.Replace(frames[1], []byte(":1:3:"), []byte(numbers), 1))
	}
	altered := slices.Clone(frames[1])
	altered[len(altered)-2] ^= 1
	lostOpen := faulty("lost-open", frames[0], frames[2])
	lostOpen.staysOpen = true
	return []reading{
		framesInTurn(f),
		firstFrames(f),
		faulty("swapped", frames[0], frames[2], frames[1]),
		faulty("lost", frames[0], frames[2]),
		lostOpen,
		withSecond("invalid/no-header", []byte("hello\n")),
		withNumbers("invalid/no-total", ":1:"),
		withNumbers("invalid/index", ":3:3:"),
		withNumbers("invalid/negative", ":-1:3:"),
		withNumbers("invalid/total", ":1:4:"),
		faulty("invalid/twice", frames[0], frames[1], frames[1], frames[2]),
		withSecond("invalid/altered", altered),
	}, nil
}

// framesOf returns the frames of a message as they go on the wire.
func framesOf(f framers.Chunker, msg []byte) [][]byte {
	var frames [][]byte
	for frame := range f.Frames(msg) {
		frames = append(frames, bytes.Join(frame, nil))
	}
	return frames
}

// framesInTurn returns a stream of four messages whose frames come in turn: the first frame of each
// message, then the second of each, and so on.
func framesInTurn(f framers.Chunker) reading {
	c := reading{part: "in-turn", open: openFraming(f)}
	var queues [][][]byte // the frames of each message
	for _, size := range []int{1_500, 5_000, 10_000, 20_000} {
		msg := padded("turn", size)
		c.sent = append(c.sent, msg)
		queues = append(queues, framesOf(f, msg))
	}
	for i := range queues[len(queues)-1] { // the last message has the most frames
		for _, q := range queues {
			if i < len(q) {
				c.wire = append(c.wire, q[i]...)
			}
		}
	}
	return c
}

// firstFrames returns a stream that has only the first two of the three frames of a message. The
// reader of the stream delivers each chunk as soon as the chunk has come.
func firstFrames(f framers.Chunker) reading {
	c := reading{part: "shown-early", staysOpen: true}
	for _, frame := range framesOf(f, padded("early", 2500))[:2] {
		data := bytes.SplitN(frame, []byte(":"), 4)[3] // after id, index and total
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
				_, err := in.ReadMessage() // this appends to shown
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

// partialReads returns streams of lines that the readers get in pieces of several sizes. Most lines
// are about as long as a multiple of 4096 bytes.
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

// allowed is the longest line that the readers accept, in bytes. It is an often recommended limit.
const allowed = 16 << 20

// oversizedLines returns a stream with a line of exactly the allowed size. In its other streams, a
// line is a byte longer, and a small line follows.
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
