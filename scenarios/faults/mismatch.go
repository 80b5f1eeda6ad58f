package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/script"
)

// Mismatch is the evidence of framing-mismatch for one pair.
type Mismatch struct {
	Summarised
	Sender     string `json:"sender"`
	Reader     string `json:"reader"`
	First      string `json:"first"` // what became of the first message, while the sender waits for its answer
	Sent       int    `json:"sent"`
	Understood int    `json:"understood"` // messages delivered as they were sent
	Garbled    int    `json:"garbled"`    // delivered, and no message that was sent
	NotJSON    int    `json:"not_json"`   // of them, no JSON: a program that parses notices
	Waits      bool   `json:"waits"`      // the reader took all there was and wants more, although no message is missing
	Error      string `json:"error,omitempty"`
}

// What becomes of a message.
const (
	understood = "understood"
	garbled    = "garbled"
	refused    = "refused"
	waits      = "the reader waits for more"
)

// judge lets the first message decide where the reader waits for more of it: its sender waits too,
// for an answer, and what a longer message would bring to light never comes.
func (e *Mismatch) judge() (Verdict, string) {
	const stuck = "The reader waits for something that looks like its own framing, and the sender for an answer: a hang from the first message on. " +
		"Put a deadline on the first answer, and say in its error which framing was spoken."
	switch {
	case e.Understood == e.Sent && e.Garbled == 0:
		return Sound, fmt.Sprintf("A reader of %s understands what %s sends.", e.Reader, e.Sender)
	case e.First == waits:
		return Stuck, stuck
	case e.Error != "":
		return Refused, fmt.Sprintf("The reader says what is wrong (%s). Log that where a person looks, and name the framing that was expected.", e.Error)
	case e.Garbled > 0:
		return Corrupted, fmt.Sprintf("The reader delivers %d messages that nobody sent, %d of them no JSON. A program that drops bad lines then waits for "+
			"answers that never come. Agree on the framing before the first message; probe with a small one.", e.Garbled, e.NotJSON)
	case e.Waits:
		return Stuck, stuck
	}
	return SilentLoss, stuck
}

func (e *Mismatch) summarise() {
	e.Summary = fmt.Sprintf("first message: %s; %d of %d understood", e.First, e.Understood, e.Sent)
	if e.Garbled > 0 {
		e.Summary += fmt.Sprintf(", %d garbled", e.Garbled)
	}
}

func runFramingMismatch(_ context.Context, r *recorder) {
	framings := []string{"ndjson", "content-length", "length-prefix", "chunked:4096", "adaptive:4096"}
	for _, sender := range framings {
		for _, reader := range framings {
			r.try(sender+"-to-"+reader, func() finding { return SendMismatched(sender, reader) })
		}
	}
}

// SendMismatched sends three messages in one framing to a reader of another, the last of them
// larger than a chunk.
func SendMismatched(sender, reader string) *Mismatch {
	e := &Mismatch{Sender: sender, Reader: reader}
	from, to := script.Must(framers.Parse(sender)), script.Must(framers.Parse(reader))
	messages := [][]byte{[]byte(messageA), []byte(messageB), []byte(`{"jsonrpc":"2.0","id":3,"text":"` + strings.Repeat("x", 20_000) + `"}`)}
	first := *e
	first.send(from, to, messages[:1])
	switch {
	case first.Understood == 1:
		e.First = understood
	case first.Error != "":
		e.First = refused
	case first.Garbled > 0:
		e.First = garbled
	default:
		e.First = waits
	}
	e.send(from, to, messages)
	return e
}

// send sends the messages, and notes what the reader makes of them.
func (e *Mismatch) send(from, to framers.Framing, messages [][]byte) {
	e.Sent = len(messages)
	var wire bytes.Buffer
	w := from.NewWriter(&wire)
	for _, msg := range messages {
		script.Check(w.WriteMessage(msg))
	}
	Deliver(wire.Bytes(), true, func(r io.Reader) { e.receive(to.NewReader(r), messages) })
}

// receive reads until the reader fails or wants more than there is.
func (e *Mismatch) receive(r framers.Reader, messages [][]byte) {
	for {
		msg, err := r.ReadMessage()
		if errors.Is(err, ErrStarved) {
			e.Waits = true
			return
		}
		if err != nil {
			e.Error = err.Error()
			return
		}
		if e.Understood < e.Sent && bytes.Equal(msg, messages[e.Understood]) {
			e.Understood++
			continue
		}
		e.Garbled++
		if !json.Valid(msg) {
			e.NotJSON++
		}
	}
}

// ErrStarved is what a reader gets that asks for more than was ever sent: on a stream that stays
// open it would wait for ever.
var ErrStarved = errors.New("waits for bytes that nobody sends")

// Deliver sends bytes through a real pipe to receive. Where the stream stays open, a read beyond
// the last byte fails with ErrStarved in place of waiting; else it meets the end of file.
func Deliver(sent []byte, open bool, receive func(io.Reader)) {
	Through(func(w io.Writer) error {
		_, err := w.Write(sent)
		return err
	}, func(r io.Reader) { receive(&patientReader{r: r, left: len(sent), open: open}) })
}

// Through sends whatever send writes through a real pipe to receive. What the sender meets when the
// receiver leaves early is no error.
func Through(send func(io.Writer) error, receive func(io.Reader)) {
	w, r, closeBoth := Open(syspipe.Anonymous)
	defer closeBoth()
	UsePoller(w, r)
	sent := make(chan error, 1)
	go func() { sent <- errors.Join(send(w), w.Close()) }()
	err := script.Run(func() { receive(r) })
	r.Close()
	if failed := <-sent; err == nil && !errors.Is(failed, syscall.EPIPE) {
		err = failed
	}
	script.Check(err)
}

// A patientReader knows how much was sent.
type patientReader struct {
	r    io.Reader
	left int
	open bool
}

func (p *patientReader) Read(b []byte) (int, error) {
	if p.left == 0 && p.open {
		return 0, ErrStarved
	}
	n, err := p.r.Read(b)
	p.left -= n
	return n, err
}
