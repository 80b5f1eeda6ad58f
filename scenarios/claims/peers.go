package claims

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/faults"
)

// Missing is the evidence of 000-missing-chunks and 000-out-of-order.
type Missing struct {
	AtEnd     string `json:"at_end"`     // the receiver's error when the stream ended; empty: none
	Named     bool   `json:"named"`      // it says that a chunk is missing
	WhileOpen string `json:"while_open"` // its error on a stream that stayed open
	NamedOpen bool   `json:"named_open"`
	Next      bool   `json:"next"` // the message after it arrived all the same
	Swapped   bool   `json:"swapped_delivered"`
}

func gatherMissing(context.Context, *session) (Missing, error) {
	var e Missing
	f, err := framers.Chunked(4 << 10)
	if err != nil {
		return e, err
	}
	msg := message(20_000)
	frames := framesOf(f, msg)
	holed := slices.Delete(slices.Clone(frames), 2, 3)
	lost, err := readPastHole(f, holed, false)
	if err != nil {
		return e, err
	}
	e.AtEnd = faults.ErrorText(lost.met)
	e.Named = lost.named()
	lost, err = readPastHole(f, holed, true)
	if err != nil {
		return e, err
	}
	e.WhileOpen = faults.ErrorText(lost.met)
	e.NamedOpen = lost.named()
	e.Next = lost.next
	swapped := slices.Clone(frames)
	swapped[1], swapped[2] = swapped[2], swapped[1]
	err = faults.TransferBytes(bytes.Join(swapped, nil), false, func(r io.Reader) error {
		got, err := f.NewReader(r).ReadMessage()
		e.Swapped = err == nil && bytes.Equal(got, msg)
		return nil
	})
	return e, err
}

// A lostChunk is what a receiver makes of a message that lacks a chunk.
type lostChunk struct {
	met  error // by the receiver, after the message behind the one that lacks a chunk
	next bool  // the message behind it arrived
}

// named reports whether the receiver's error says that a chunk is missing.
func (l lostChunk) named() bool {
	return errors.Is(l.met, framers.ErrMissing) || errors.Is(l.met, framers.ErrExpired)
}

// readPastHole delivers the frames of a message that lacks one, and a message after it, on a stream
// that stays open or ends.
func readPastHole(f framers.Chunker, holed [][]byte, open bool) (lostChunk, error) {
	var l lostChunk
	next := message(300)
	wire := slices.Concat(holed, framesOf(f, next))
	err := faults.TransferBytes(bytes.Join(wire, nil), open, func(r io.Reader) error {
		in := f.NewReader(r)
		got, err := in.ReadMessage()
		l.next = err == nil && bytes.Equal(got, next)
		_, l.met = in.ReadMessage()
		return nil
	})
	return l, err
}

func judgeMissing(e Missing) finding {
	f := finding{figure: "at the end: " + e.AtEnd}
	switch {
	case e.Named && e.NamedOpen:
		f.verdict = Holds
	case e.Named:
		f.verdict = Depends
	default:
		f.verdict = Refuted
	}
	return f
}

func judgeSwapped(e Missing) finding {
	return finding{outcome: holdsIf(!e.Swapped), figure: "frames 1 and 2 swapped"}
}

// Invalid is the evidence of 000-invalid-frames.
type Invalid struct {
	Cases []InvalidCase `json:"cases"`
}

// An InvalidCase is one faulty frame.
type InvalidCase struct {
	Fault   string `json:"fault"`
	Refused bool   `json:"refused"`
	Error   string `json:"error,omitempty"`
}

// spoiled are frames with one fault each, made of the second of three good ones.
var spoiled = []struct {
	fault string
	spoil func(frame []byte) []byte
}{
	{"no header", func([]byte) []byte { return []byte("hello\n") }},
	{"no total", withNumbers(":1:")},
	{"index not below total", withNumbers(":3:3:")},
	{"negative index", withNumbers(":-1:3:")},
	{"total that contradicts", withNumbers(":1:4:")},
	{"the same twice", func(f []byte) []byte { return slices.Concat(f, f) }},
	{"altered data", func(f []byte) []byte {
		f = slices.Clone(f)
		f[len(f)-2] ^= 1
		return f
	}},
}

// withNumbers puts other numbers in the place of a frame's index and total.
func withNumbers(numbers string) func([]byte) []byte {
	return func(f []byte) []byte {
		return bytes.Replace(f, []byte(":1:3:"), []byte(numbers), 1)
	}
}

func gatherInvalid(context.Context, *session) (Invalid, error) {
	var e Invalid
	f, err := framers.Chunked(1 << 10)
	if err != nil {
		return e, err
	}
	frames := framesOf(f, message(2_500)) // three
	for _, s := range spoiled {
		c := InvalidCase{Fault: s.fault}
		wire := slices.Concat(frames[0], s.spoil(frames[1]), frames[2])
		err := faults.TransferBytes(wire, false, func(r io.Reader) error {
			_, err := f.NewReader(r).ReadMessage()
			c.Refused = err != nil
			c.Error = faults.ErrorText(err)
			return nil
		})
		if err != nil {
			return e, err
		}
		e.Cases = append(e.Cases, c)
	}
	return e, nil
}

func judgeInvalid(e Invalid) finding {
	var t tally
	for _, c := range e.Cases {
		t.add(c.Fault, c.Refused)
	}
	return t.judge(t.figure() + " faults refused")
}

// Peers are the evidence of 000-unchunked-peers.
type Peers struct {
	// A chunking sender, and a peer that reads lines.
	ToLines faults.Mismatch `json:"to_lines"`
	// A peer that sends lines, and a receiver that takes both.
	FromLines faults.Mismatch `json:"from_lines"`
	// A peer that sends lines, and a receiver of frames alone.
	Strict faults.Mismatch `json:"strict"`
}

func gatherPeers(context.Context, *session) (Peers, error) {
	toLines, err := faults.TryFramings("adaptive:4096", "ndjson")
	if err != nil {
		return Peers{}, err
	}
	fromLines, err := faults.TryFramings("ndjson", "adaptive:4096")
	if err != nil {
		return Peers{}, err
	}
	strict, err := faults.TryFramings("ndjson", "chunked:4096")
	if err != nil {
		return Peers{}, err
	}
	return Peers{*toLines, *fromLines, *strict}, nil
}

func judgePeers(e Peers) finding {
	to := e.ToLines.Understood == e.ToLines.Sent
	from := e.FromLines.Understood == e.FromLines.Sent
	f := finding{figure: fmt.Sprintf("to lines %d of %d, from lines %d of %d",
		e.ToLines.Understood, e.ToLines.Sent, e.FromLines.Understood, e.FromLines.Sent)}
	switch {
	case to && from:
		f.verdict = Holds
	case from:
		f.outcome = outcome{Depends, "from lines"}
	case to:
		f.outcome = outcome{Depends, "to lines"}
	default:
		f.verdict = Refuted
	}
	return f
}

// Agnostic is the evidence of 000-protocol-agnostic.
type Agnostic struct {
	Bytes   faults.SplitText `json:"bytes"`
	Strict  faults.SplitText `json:"strict"`
	Newline bool             `json:"newline"` // a message with a newline in it can be sent
}

func gatherAgnostic(ctx context.Context, s *session) (Agnostic, error) {
	var e Agnostic
	all, err := s.faults(ctx, "split-utf8")
	if err != nil {
		return e, err
	}
	if err := decodeFault(all, "split-utf8/bytes", &e.Bytes); err != nil {
		return e, err
	}
	if err := decodeFault(all, "split-utf8/strict", &e.Strict); err != nil {
		return e, err
	}
	f, err := framers.Chunked(60 << 10)
	if err != nil {
		return e, err
	}
	e.Newline = framers.Carries(f, []byte("a\nb")) == nil
	return e, nil
}

func judgeAgnostic(e Agnostic) finding {
	f := finding{figure: fmt.Sprintf("joined as bytes %d of %d, decoded frame by frame %d of %d",
		e.Bytes.Intact, e.Bytes.Messages, e.Strict.Intact, e.Strict.Messages)}
	switch {
	case e.Bytes.Intact < e.Bytes.Messages:
		f.verdict = Refuted
	case e.Strict.Intact < e.Strict.Messages:
		f.verdict = Depends
	default:
		f.verdict = Holds
	}
	return f
}
