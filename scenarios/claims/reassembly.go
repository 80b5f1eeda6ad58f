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
)

// reassemblyClaims are what document 000 says of putting chunks together. They are judged with this
// project's receiver of that format, and where a program of the documented kind would do otherwise,
// with that as well.
var reassemblyClaims = []Claim{
	claim("000-any-size", gatherArrival, judgeArrival),
	claim("000-memory", gatherMemory, judgeMemory),
	claim("000-cleared", gatherCleared, judgeCleared),
	claim("000-streaming", gatherStreaming, judgeStreaming),
	claim("000-in-flight", gatherFlight, judgeFlight),
	claim("000-missing-chunks", gatherMissing, judgeMissing),
	claim("000-out-of-order", gatherMissing, judgeSwapped),
	claim("000-invalid-frames", gatherInvalid, judgeInvalid),
	claim("000-unchunked-peers", gatherPeers, judgePeers),
	claim("000-protocol-agnostic", gatherAgnostic, judgeAgnostic),
}

// An Arrival is the evidence that a message arrived.
type Arrival struct {
	Size   int  `json:"size"` // bytes
	Intact bool `json:"intact"`
}

func gatherArrival(context.Context, *session) (Arrival, error) {
	e := Arrival{Size: anySize}
	f, err := framers.Chunked(60 << 10)
	if err != nil {
		return e, err
	}
	msg := message(e.Size)
	receive := func(r framers.Reader) error {
		got, err := r.ReadMessage()
		e.Intact = bytes.Equal(got, msg)
		return err
	}
	err = exchange(f, [][]byte{msg}, receive,
		framers.WithMaxMessage(e.Size), framers.WithMaxInFlight(1, e.Size))
	return e, err
}

func judgeArrival(e Arrival) finding {
	return finding{outcome: holdsIf(e.Intact), figure: faults.Size(e.Size)}
}

// A Kept says how much memory a receiver held for a message.
type Kept struct {
	Size int64 `json:"size"` // bytes of the message
	Held int64 `json:"held"` // bytes that the process got from the system for it

	// Bytes on the heap beyond those before: after the other messages, and as soon as this one was
	// delivered.
	AfterHeap int64  `json:"after_heap"`
	AtOnce    *int64 `json:"at_once"`

	Delivered int64 `json:"delivered"` // bytes of the message
	Refused   bool  `json:"refused"`
}

// receive has a process of its own receive what send sends: a message of size bytes, and perhaps
// others after it.
func receive(
	ctx context.Context, args faults.ReceiverArgs, size int64, send func(io.Writer) error,
) (Kept, error) {
	got, err := faults.ReceiveInProcess(ctx, args, send)
	if err != nil {
		return Kept{}, err
	}
	return Kept{
		Size: size, Held: got.Held, AfterHeap: got.AfterHeap, AtOnce: &got.AtOnce,
		Delivered: got.Delivered,
		Refused:   got.Error != "" || got.Delivered > int64(args.Limit),
	}, nil
}

// Memory is the evidence of 000-memory.
type Memory struct {
	Messages []Kept      `json:"messages"`
	Growth   stat.Growth `json:"growth"`
}

func gatherMemory(ctx context.Context, _ *session) (Memory, error) {
	var e Memory
	f, err := framers.Chunked(60 << 10)
	if err != nil {
		return e, err
	}
	var sizes, held []float64
	for _, size := range memorySizes {
		args := faults.ReceiverArgs{Framing: f.String(), Limit: size}
		k, err := receive(ctx, args, int64(size), sending(f, message(size)))
		if err != nil {
			return e, err
		}
		e.Messages = append(e.Messages, k)
		sizes = append(sizes, float64(size))
		held = append(held, float64(max(k.Held, 4<<10))) // a page is the least
	}
	e.Growth, err = stat.FitGrowth(sizes, held)
	return e, err
}

func judgeMemory(e Memory) finding {
	if len(e.Messages) == 0 {
		return finding{outcome: outcome{Refuted, "none received"}}
	}
	last := e.Messages[len(e.Messages)-1]
	times := float64(last.Held) / float64(last.Size)
	f := finding{figure: fmt.Sprintf("%s; %.1f × at %s", e.Growth, times, faults.Size(last.Size))}
	if e.Growth.Slope >= 0.7 && e.Growth.Slope <= 1.3 {
		f.verdict = Holds
	} else {
		f.outcome = outcome{Refuted, "other growth"}
	}
	return f
}

func gatherCleared(ctx context.Context, _ *session) (Kept, error) {
	f, err := framers.Chunked(60 << 10)
	if err != nil {
		return Kept{}, err
	}
	large := message(16 << 20)
	messages := [][]byte{large}
	for range 100 {
		messages = append(messages, message(200))
	}
	args := faults.ReceiverArgs{Framing: f.String(), Limit: len(large), Drain: true}
	return receive(ctx, args, int64(len(large)), sending(f, messages...))
}

func judgeCleared(e Kept) finding {
	left := faults.Size(e.AfterHeap)
	f := finding{
		figure: fmt.Sprintf("%s of %s left after smaller messages", left, faults.Size(e.Size)),
	}
	atOnce := false // evidence of earlier versions does not tell
	if e.AtOnce != nil {
		f.figure = faults.Size(*e.AtOnce) + " left at once, " + f.figure
		atOnce = *e.AtOnce < e.Size/10
	}
	switch {
	case atOnce:
		f.verdict = Holds
	case e.AfterHeap < e.Size/10:
		f.verdict = Depends
	default:
		f.verdict = Refuted
	}
	return f
}

// Streaming is the evidence of 000-streaming.
type Streaming struct {
	Frames int `json:"frames"`
	Early  int `json:"early"` // frames whose data the receiver showed before the last one was sent
}

func gatherStreaming(ctx context.Context, _ *session) (Streaming, error) {
	var e Streaming
	f, err := framers.Chunked(60 << 10)
	if err != nil {
		return e, err
	}
	frames := framesOf(f, message(1<<20))
	e.Frames = len(frames)
	shown := make(chan struct{}, len(frames))
	ctx, cancel := context.WithTimeout(ctx, silenceWithin)
	defer cancel()
	send := func(w io.Writer) error {
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
	}
	receive := func(r io.Reader) error {
		show := framers.WithProgress(func(framers.Chunk) { shown <- struct{}{} })
		_, err := f.NewReader(r, show).ReadMessage()
		if errors.Is(err, io.ErrUnexpectedEOF) { // the sender gave up
			return nil
		}
		return err
	}
	err = faults.Transfer(send, receive)
	return e, err
}

func judgeStreaming(e Streaming) finding {
	f := finding{figure: fmt.Sprintf("%d of %d frames", e.Early, e.Frames)}
	switch {
	case e.Early > 0 && e.Early == e.Frames-1:
		f.verdict = Holds
	case e.Early == 0:
		f.verdict = Refuted
	default:
		f.verdict = Depends
	}
	return f
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

func gatherFlight(context.Context, *session) (Flight, error) {
	var e Flight
	f, err := framers.Chunked(4 << 10)
	if err != nil {
		return e, err
	}
	messages := messagesOf(10_000, 20_000, 40_000, 80_000)
	wire := inTurn(f, messages)
	e.Messages = len(messages)
	e.Frames = len(wire)
	err = faults.TransferBytes(bytes.Join(wire, nil), false, func(r io.Reader) error {
		in := f.NewReader(r)
		for range messages {
			got, err := in.ReadMessage()
			if err != nil {
				return err
			}
			if slices.ContainsFunc(messages, func(m []byte) bool { return bytes.Equal(m, got) }) {
				e.Intact++
			}
		}
		return nil
	})
	return e, err
}

// inTurn returns the frames of messages: the first one of each, then the second one of each, and so
// on.
func inTurn(f framers.Chunker, messages [][]byte) [][]byte {
	var queues [][][]byte
	longest := 0
	for _, msg := range messages {
		q := framesOf(f, msg)
		longest = max(longest, len(q))
		queues = append(queues, q)
	}
	var wire [][]byte
	for i := range longest {
		for _, q := range queues {
			if i < len(q) {
				wire = append(wire, q[i])
			}
		}
	}
	return wire
}

func judgeFlight(e Flight) finding {
	return finding{
		outcome: holdsIf(e.Intact == e.Messages),
		figure:  fmt.Sprintf("%d of %d messages, %d frames", e.Intact, e.Messages, e.Frames),
	}
}
