package claims

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/syspipe/script"
)

// reassemblyClaims are what document 000 says of putting chunks together. They are judged with this
// project's receiver of that format, and where a program of the documented kind would do otherwise,
// with that as well.
var reassemblyClaims = []Claim{
	claim("000-any-size", func(context.Context, *session) Arrival {
		e := Arrival{Size: anySize}
		f := script.Must(framers.Chunked(60 << 10))
		msg := message(e.Size)
		exchange(f, [][]byte{msg}, func(r framers.Reader) {
			e.Intact = bytes.Equal(script.Must(r.ReadMessage()), msg)
		}, framers.WithMaxMessage(e.Size), framers.WithMaxInFlight(1, e.Size))
		return e
	}, func(e Arrival) finding {
		return decide(faults.Size(e.Size), e.Intact)
	}),
	claim("000-memory", func(ctx context.Context, _ *session) (e Memory) {
		f := script.Must(framers.Chunked(60 << 10))
		var sizes, held []float64
		for _, size := range memorySizes {
			args := faults.ReceiverArgs{Framing: f.String(), Limit: size}
			k := receive(ctx, args, int64(size), sending(f, message(size)))
			e.Messages = append(e.Messages, k)
			sizes, held = append(sizes, float64(size)), append(held, float64(max(k.Held, 4<<10))) // a page is the least
		}
		e.Growth = script.Must(stat.FitGrowth(sizes, held))
		return e
	}, func(e Memory) finding {
		figure, none := "", len(e.Messages) == 0
		if !none {
			last := e.Messages[len(e.Messages)-1]
			figure = fmt.Sprintf("%s; %.1f × at %s", e.Growth, float64(last.Held)/float64(last.Size), faults.Size(last.Size))
		}
		return decide(figure, none, e.Growth.Slope >= 0.7 && e.Growth.Slope <= 1.3)
	}),
	claim("000-cleared", func(ctx context.Context, _ *session) Kept {
		f := script.Must(framers.Chunked(60 << 10))
		large := message(16 << 20)
		messages := append([][]byte{large}, slices.Repeat([][]byte{message(200)}, 100)...)
		args := faults.ReceiverArgs{Framing: f.String(), Limit: len(large), Drain: true}
		return receive(ctx, args, int64(len(large)), sending(f, messages...))
	}, func(e Kept) finding {
		figure := fmt.Sprintf("%s of %s left after smaller messages", faults.Size(e.AfterHeap),
			faults.Size(e.Size))
		atOnce := false // evidence of earlier versions does not tell
		if e.AtOnce != nil {
			figure = faults.Size(*e.AtOnce) + " left at once, " + figure
			atOnce = *e.AtOnce < e.Size/10
		}
		return decide(figure, atOnce, e.AfterHeap < e.Size/10)
	}),
	claim("000-streaming", gatherStreaming, func(e Streaming) finding {
		return decide(fmt.Sprintf("%d of %d frames", e.Early, e.Frames), e.Early > 0 && e.Early == e.Frames-1, e.Early == 0)
	}),
	claim("000-in-flight", gatherFlight, func(e Flight) finding {
		return decide(fmt.Sprintf("%d of %d messages, %d frames", e.Intact, e.Messages, e.Frames), e.Intact == e.Messages)
	}),
	claim("000-missing-chunks", gatherMissing, func(e Missing) finding {
		return decide("at the end: "+e.AtEnd, e.Named && e.NamedOpen, e.Named)
	}),
	claim("000-out-of-order", gatherMissing, func(e Missing) finding {
		return decide("frames 1 and 2 swapped", !e.Swapped)
	}),
	claim("000-invalid-frames", gatherInvalid, func(e Invalid) finding {
		var t tally
		for _, c := range e.Cases {
			t.add(c.Fault, c.Refused)
		}
		return t.judge(t.figure() + " faults refused")
	}),
	claim("000-unchunked-peers", func(context.Context, *session) Peers {
		return Peers{
			ToLines:   *faults.SendMismatched("adaptive:4096", "ndjson"),
			FromLines: *faults.SendMismatched("ndjson", "adaptive:4096"),
			Strict:    *faults.SendMismatched("ndjson", "chunked:4096"),
		}
	}, func(e Peers) finding {
		to, from := e.ToLines.Understood == e.ToLines.Sent, e.FromLines.Understood == e.FromLines.Sent
		figure := fmt.Sprintf("to lines %d of %d, from lines %d of %d", e.ToLines.Understood, e.ToLines.Sent, e.FromLines.Understood, e.FromLines.Sent)
		return decide(figure, to && from, from, to)
	}),
	claim("000-protocol-agnostic", func(ctx context.Context, s *session) (e Agnostic) {
		all := s.faults(ctx, "split-utf8")
		e.Bytes = decodeFault[faults.SplitText](all, "split-utf8/bytes")
		e.Strict = decodeFault[faults.SplitText](all, "split-utf8/strict")
		e.Newline = framers.Carries(script.Must(framers.Chunked(60<<10)), []byte("a\nb")) == nil
		return e
	}, func(e Agnostic) finding {
		figure := fmt.Sprintf("joined as bytes %d of %d, decoded frame by frame %d of %d", e.Bytes.Intact, e.Bytes.Messages, e.Strict.Intact, e.Strict.Messages)
		return decide(figure, e.Bytes.Intact < e.Bytes.Messages, e.Strict.Intact < e.Strict.Messages)
	}),
}

// An Arrival is the evidence that a message arrived.
type Arrival struct {
	Size   int  `json:"size"` // bytes
	Intact bool `json:"intact"`
}

// Memory is the evidence of 000-memory.
type Memory struct {
	Messages []Kept      `json:"messages"`
	Growth   stat.Growth `json:"growth"`
}

// Streaming is the evidence of 000-streaming.
type Streaming struct {
	Frames int `json:"frames"`
	Early  int `json:"early"` // frames whose data the receiver showed before the last one was sent
}

func gatherStreaming(ctx context.Context, _ *session) (e Streaming) {
	f := script.Must(framers.Chunked(60 << 10))
	frames := framesOf(f, message(1<<20))
	e.Frames = len(frames)
	shown := make(chan struct{}, len(frames))
	ctx, cancel := context.WithTimeout(ctx, silenceWithin)
	defer cancel()
	faults.Through(func(w io.Writer) error {
		last := len(frames) - 1
		for _, frame := range frames[:last] {
			if _, err := w.Write(frame); err != nil {
				return err
			}
			select {
			case <-shown:
				e.Early++
			case <-ctx.Done():
				return nil
			}
		}
		_, err := w.Write(frames[last])
		return err
	}, func(r io.Reader) {
		_, err := f.NewReader(r, framers.WithProgress(func(framers.Chunk) { shown <- struct{}{} })).ReadMessage()
		if !errors.Is(err, io.ErrUnexpectedEOF) { // which says that the sender gave up
			script.Check(err)
		}
	})
	return e
}

// framesOf are the frames of a message, each in one piece.
func framesOf(f framers.Chunker, msg []byte) [][]byte {
	var out [][]byte
	for frame := range f.Frames(msg) {
		out = append(out, bytes.Join(frame, nil))
	}
	return out
}

// Flight is the evidence of 000-in-flight.
type Flight struct {
	Messages int `json:"messages"`
	Frames   int `json:"frames"`
	Intact   int `json:"intact"`
}

func gatherFlight(context.Context, *session) (e Flight) {
	f := script.Must(framers.Chunked(4 << 10))
	messages := stat.Map([]int{10_000, 20_000, 40_000, 80_000}, message)
	queues := stat.Map(messages, func(msg []byte) [][]byte { return framesOf(f, msg) })
	var wire [][]byte
	for i := range queues[len(queues)-1] { // the longest
		for _, q := range queues {
			if i < len(q) {
				wire = append(wire, q[i])
			}
		}
	}
	e.Messages, e.Frames = len(messages), len(wire)
	faults.Deliver(bytes.Join(wire, nil), false, func(r io.Reader) {
		in := f.NewReader(r)
		for range messages {
			got := script.Must(in.ReadMessage())
			if slices.ContainsFunc(messages, func(m []byte) bool { return bytes.Equal(m, got) }) {
				e.Intact++
			}
		}
	})
	return e
}

// Missing is the evidence of 000-missing-chunks.
type Missing struct {
	AtEnd     string `json:"at_end"`     // the receiver's error when the stream ended; empty: none
	Named     bool   `json:"named"`      // it says that a chunk is missing
	WhileOpen string `json:"while_open"` // its error on a stream that stayed open
	NamedOpen bool   `json:"named_open"`
	Next      bool   `json:"next"` // the message after it arrived all the same
	Swapped   bool   `json:"swapped_delivered"`
}

func gatherMissing(context.Context, *session) (e Missing) {
	f := script.Must(framers.Chunked(4 << 10))
	msg, next := message(20_000), message(300)
	frames := framesOf(f, msg)
	holed := append(slices.Delete(slices.Clone(frames), 2, 3), framesOf(f, next)...)
	lose := func(open bool) (text string, named bool) {
		faults.Deliver(bytes.Join(holed, nil), open, func(r io.Reader) {
			in := f.NewReader(r)
			got, err := in.ReadMessage()
			e.Next = err == nil && bytes.Equal(got, next)
			_, err = in.ReadMessage()
			text, named = faults.ErrorText(err), errors.Is(err, framers.ErrMissing) || errors.Is(err, framers.ErrExpired)
		})
		return text, named
	}
	e.AtEnd, e.Named = lose(false)
	e.WhileOpen, e.NamedOpen = lose(true)
	swapped := slices.Clone(frames)
	swapped[1], swapped[2] = swapped[2], swapped[1]
	faults.Deliver(bytes.Join(swapped, nil), false, func(r io.Reader) {
		got, err := f.NewReader(r).ReadMessage()
		e.Swapped = err == nil && bytes.Equal(got, msg)
	})
	return e
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
	{"no total", func(f []byte) []byte { return bytes.Replace(f, []byte(":1:3:"), []byte(":1:"), 1) }},
	{"index not below total", func(f []byte) []byte { return bytes.Replace(f, []byte(":1:3:"), []byte(":3:3:"), 1) }},
	{"negative index", func(f []byte) []byte { return bytes.Replace(f, []byte(":1:3:"), []byte(":-1:3:"), 1) }},
	{"total that contradicts", func(f []byte) []byte { return bytes.Replace(f, []byte(":1:3:"), []byte(":1:4:"), 1) }},
	{"the same twice", func(f []byte) []byte { return append(slices.Clone(f), f...) }},
	{"altered data", func(f []byte) []byte {
		f = slices.Clone(f)
		f[len(f)-2] ^= 1
		return f
	}},
}

func gatherInvalid(context.Context, *session) (e Invalid) {
	f := script.Must(framers.Chunked(1 << 10))
	frames := framesOf(f, message(2_500)) // three
	for _, s := range spoiled {
		c := InvalidCase{Fault: s.fault}
		wire := bytes.Join([][]byte{frames[0], s.spoil(frames[1]), frames[2]}, nil)
		faults.Deliver(wire, false, func(r io.Reader) {
			_, err := f.NewReader(r).ReadMessage()
			c.Refused, c.Error = err != nil, faults.ErrorText(err)
		})
		e.Cases = append(e.Cases, c)
	}
	return e
}

// Peers are the evidence of 000-unchunked-peers.
type Peers struct {
	ToLines   faults.Mismatch `json:"to_lines"`   // a chunking sender, a peer that reads lines
	FromLines faults.Mismatch `json:"from_lines"` // a peer that sends lines, a receiver that takes both
	Strict    faults.Mismatch `json:"strict"`     // the same, to a receiver of frames alone
}

// Agnostic is the evidence of 000-protocol-agnostic.
type Agnostic struct {
	Bytes   faults.SplitText `json:"bytes"`
	Strict  faults.SplitText `json:"strict"`
	Newline bool             `json:"newline"` // a message with a newline in it can be sent
}
