package trials

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/experiment"
)

// receiveChunks shows this project's receiver of chunks streams of frames, in memory. Where a
// program of the documented kind does otherwise, that is tried too.
func receiveChunks(t *experiment.Trial) {
	for _, do := range []func(*experiment.Trial, framers.Chunker){
		countHeaders, showProgress, receiveInTurn, receiveWithLoss, receiveInvalid,
	} {
		f, err := framers.Chunked(4 << 10)
		if !t.Check(err) {
			return
		}
		do(t, f)
	}
}

// message is JSON of exactly n bytes, 34 at least.
func message(n int) []byte {
	const head, tail = `{"jsonrpc":"2.0","id":1,"text":"`, `"}`
	n = max(n, len(head)+len(tail))
	p := bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz"), n/26+1)[:n]
	copy(p, head)
	copy(p[n-len(tail):], tail)
	return p
}

// framesOf are the frames of a message, each in one piece.
func framesOf(f framers.Chunker, msg []byte) [][]byte {
	var frames [][]byte
	for frame := range f.Frames(msg) {
		frames = append(frames, bytes.Join(frame, nil))
	}
	return frames
}

// receive returns the next message that a framing makes of a stream which ends.
func receive(f framers.Framing, stream ...[]byte) ([]byte, error) {
	return f.NewReader(bytes.NewReader(bytes.Join(stream, nil))).ReadMessage()
}

// countHeaders counts the bytes of header and newline of frames of 60 KiB.
func countHeaders(t *experiment.Trial, _ framers.Chunker) {
	f, err := framers.Chunked(60 << 10)
	if !t.Check(err) {
		return
	}
	least := 1 << 30
	most := 0
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20, 16 << 20} {
		for _, frame := range framesOf(f, bytes.Repeat([]byte("x"), size)) {
			extra := len(frame) - bytes.Count(frame, []byte("x")) // a header has no such letter
			least = min(least, extra)
			most = max(most, extra)
		}
	}
	const title = "bytes of header and newline, of messages from 1 KiB to 16 MiB"
	found(t, "trial/chunks/header/least", title, least, "B")
	found(t, "trial/chunks/header/most", title, most, "B")
}

// A slowStream gives one frame a read, and notes whether the one before had been shown by then.
type slowStream struct {
	frames [][]byte
	given  int
	shown  int
	early  Count
}

func (s *slowStream) Read(p []byte) (int, error) {
	if s.given > 0 && s.given < len(s.frames) {
		s.early.Add(fmt.Sprint("frame ", s.given), s.shown == s.given)
	}
	if s.given == len(s.frames) {
		return 0, io.EOF
	}
	n := copy(p, s.frames[s.given])
	s.given++
	return n, nil
}

func showProgress(t *experiment.Trial, f framers.Chunker) {
	s := &slowStream{frames: framesOf(f, message(64<<10))}
	show := framers.WithProgress(func(framers.Chunk) { s.shown++ })
	_, err := f.NewReader(s, show, framers.WithReadBuffer(8<<10)).ReadMessage()
	t.Check(err)
	s.early.found(t, "trial/chunks/early", "frames shown before the next one was read")
}

// receiveInTurn sends the first frame of each of four messages, then the second of each, and so on.
func receiveInTurn(t *experiment.Trial, f framers.Chunker) {
	var messages, stream [][]byte
	var queues [][][]byte
	for _, size := range []int{10_000, 20_000, 40_000, 80_000} {
		msg := message(size)
		messages = append(messages, msg)
		queues = append(queues, framesOf(f, msg))
	}
	for i := range len(queues[len(queues)-1]) {
		for _, q := range queues {
			if i < len(q) {
				stream = append(stream, q[i])
			}
		}
	}
	var c Count
	in := f.NewReader(bytes.NewReader(bytes.Join(stream, nil)))
	for _, want := range messages { // the shortest is whole first
		got, err := in.ReadMessage()
		c.Add(fmt.Sprint(len(want), " B"), err == nil && bytes.Equal(got, want))
	}
	c.found(t, "trial/chunks/in-turn", "messages whose frames come in turn, delivered as sent")
}

// errOpen is what a reader gets that reads on where a stream stays open and nothing comes.
var errOpen = errors.New("waits for bytes that nobody sends")

// An openEnd is a stream that brings nothing more and does not end.
type openEnd struct{}

func (openEnd) Read([]byte) (int, error) { return 0, errOpen }

// receiveWithLoss leaves out a frame of a message, on a stream that ends and on one that stays
// open, and swaps two.
func receiveWithLoss(t *experiment.Trial, f framers.Chunker) {
	msg := message(20_000)
	frames := framesOf(f, msg)
	holed := bytes.Join(slices.Delete(slices.Clone(frames), 2, 3), nil)
	_, err := receive(f, holed)
	named := errors.Is(err, framers.ErrMissing)
	found(t, "trial/chunks/lost", "the end of the stream names a lost frame", named, "")
	_, err = f.NewReader(io.MultiReader(bytes.NewReader(holed), openEnd{})).ReadMessage()
	named = !errors.Is(err, errOpen)
	found(t, "trial/chunks/lost-open", "an open stream names a lost frame", named, "")

	swapped := slices.Clone(frames)
	swapped[1], swapped[2] = swapped[2], swapped[1]
	got, err := receive(f, swapped...)
	delivered := err == nil && bytes.Equal(got, msg)
	found(t, "trial/chunks/swapped", "a message of which two frames are swapped is delivered",
		delivered, "")
}

// receiveInvalid sends frames with one fault each, made of the second of three good ones.
func receiveInvalid(t *experiment.Trial, _ framers.Chunker) {
	f, err := framers.Chunked(1 << 10)
	if !t.Check(err) {
		return
	}
	frames := framesOf(f, message(2500)) // three
	withNumbers := func(numbers string) []byte {
		return bytes.Replace(frames[1], []byte(":1:3:"), []byte(numbers), 1)
	}
	altered := slices.Clone(frames[1])
	altered[len(altered)-2] ^= 1
	var c Count
	for _, invalid := range []struct {
		name  string
		frame []byte
	}{
		{"no header", []byte("hello\n")},
		{"no total", withNumbers(":1:")},
		{"index not below total", withNumbers(":3:3:")},
		{"negative index", withNumbers(":-1:3:")},
		{"total that contradicts", withNumbers(":1:4:")},
		{"the same twice", slices.Concat(frames[1], frames[1])},
		{"altered data", altered},
	} {
		_, err := receive(f, frames[0], invalid.frame, frames[2])
		c.Add(invalid.name, err != nil)
	}
	c.found(t, "trial/chunks/invalid", "invalid frames that are refused")
}
