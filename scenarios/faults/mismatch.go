package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pipebench/pipebench/framers"
)

// Mismatch is the evidence of framing-mismatch for one pair.
type Mismatch struct {
	Summarised
	Sender string `json:"sender"`
	Reader string `json:"reader"`

	// First is what became of the first message, while the sender waits for its answer.
	First      string `json:"first"`
	Sent       int    `json:"sent"`
	Understood int    `json:"understood"` // messages delivered as they were sent
	Garbled    int    `json:"garbled"`    // delivered, and no message that was sent
	NotJSON    int    `json:"not_json"`   // garbled, and no JSON: a program that parses notices

	// Waits says that the reader took all there was and wants more, although no message is missing.
	Waits bool   `json:"waits"`
	Error string `json:"error,omitempty"`
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
	e.Summary = fmt.Sprintf("first message: %s; %d of %d understood", e.First, e.Understood, e.Sent)
	if e.Garbled > 0 {
		e.Summary += fmt.Sprintf(", %d garbled", e.Garbled)
	}
	stuck := advise("framing-mismatch, stuck")
	switch {
	case e.Understood == e.Sent && e.Garbled == 0:
		return Sound, advise("framing-mismatch, understood", e.Reader, e.Sender)
	case e.First == waits:
		return Stuck, stuck
	case e.Error != "":
		return Refused, advise("framing-mismatch, refused", e.Error)
	case e.Garbled > 0:
		return Corrupted, advise("framing-mismatch, garbled", e.Garbled, e.NotJSON)
	case e.Waits:
		return Stuck, stuck
	}
	return SilentLoss, stuck
}

func runFramingMismatch(_ context.Context, r *recorder) error {
	framings := []string{
		"ndjson", "content-length", "length-prefix", "chunked:4096", "adaptive:4096",
	}
	for _, sender := range framings {
		for _, reader := range framings {
			err := r.try(sender+"-to-"+reader, func() (finding, error) {
				return TryFramings(sender, reader)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// TryFramings sends three messages in one framing to a reader of another, the last of them larger
// than a chunk.
func TryFramings(sender, reader string) (*Mismatch, error) {
	from, err := framers.Parse(sender)
	if err != nil {
		return nil, err
	}
	to, err := framers.Parse(reader)
	if err != nil {
		return nil, err
	}
	large := `{"jsonrpc":"2.0","id":3,"text":"` + strings.Repeat("x", 20_000) + `"}`
	messages := [][]byte{[]byte(messageA), []byte(messageB), []byte(large)}
	var first Mismatch
	if err := first.send(from, to, messages[:1]); err != nil {
		return nil, err
	}
	e := &Mismatch{Sender: sender, Reader: reader, First: first.outcome()}
	if err := e.send(from, to, messages); err != nil {
		return nil, err
	}
	return e, nil
}

// outcome says what became of the only message that was sent.
func (e *Mismatch) outcome() string {
	switch {
	case e.Understood == 1:
		return understood
	case e.Error != "":
		return refused
	case e.Garbled > 0:
		return garbled
	}
	return waits
}

// send sends the messages, and notes what the reader makes of them.
func (e *Mismatch) send(from, to framers.Framing, messages [][]byte) error {
	e.Sent = len(messages)
	var wire bytes.Buffer
	w := from.NewWriter(&wire)
	for _, msg := range messages {
		if err := w.WriteMessage(msg); err != nil {
			return err
		}
	}
	return TransferBytes(wire.Bytes(), true, func(r io.Reader) error {
		e.receive(to.NewReader(r), messages)
		return nil
	})
}

// receive reads messages until the reader fails or wants more than there is, and compares them with
// those that were sent.
func (e *Mismatch) receive(in framers.Reader, messages [][]byte) {
	for {
		msg, err := in.ReadMessage()
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
