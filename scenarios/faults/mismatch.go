package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
)

var framingMismatch = Scenario{
	Misbehaviour: catalogue.Must(catalogue.Program, "framing-mismatch"),
	Deadline:     time.Minute,
	run:          runFramingMismatch,
}

// A Mismatch is the evidence of framing-mismatch for one pair.
type Mismatch struct {
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

// judgeMismatch is the rule of framing-mismatch. The first message decides
// where the reader waits for more of it: its sender waits too, for an answer,
// and what a longer message would bring to light never comes.
func judgeMismatch(e Mismatch) Verdict {
	switch {
	case e.Understood == e.Sent && e.Garbled == 0:
		return Sound
	case e.First == waits:
		return Stuck
	case e.Error != "":
		return Refused
	case e.Garbled > 0:
		return Corrupted
	case e.Waits:
		return Stuck
	}
	return SilentLoss
}

func adviseMismatch(v Verdict, e Mismatch) string {
	switch v {
	case Sound:
		return fmt.Sprintf("A reader of %s understands what %s sends.", e.Reader, e.Sender)
	case Refused:
		return fmt.Sprintf("The reader says what is wrong (%s). Log that where a person looks, and name the framing that was expected.", e.Error)
	case Corrupted:
		return fmt.Sprintf("The reader delivers %d messages that nobody sent, %d of them no JSON. A program that drops bad lines then waits for "+
			"answers that never come. Agree on the framing before the first message; probe with a small one.", e.Garbled, e.NotJSON)
	}
	return "The reader waits for something that looks like its own framing, and the sender for an answer: a hang from the first message on. " +
		"Put a deadline on the first answer, and say in its error which framing was spoken."
}

func mismatchFramings() []string {
	return []string{"ndjson", "content-length", "length-prefix", "chunked:4096", "adaptive:4096"}
}

func mismatchMessages() [][]byte {
	large := append(append([]byte(`{"jsonrpc":"2.0","id":3,"text":"`), bytes.Repeat([]byte("x"), 20_000)...), `"}`...)
	return [][]byte{[]byte(messageA), []byte(messageB), large}
}

func runFramingMismatch(_ context.Context, s *stage) error {
	for _, sender := range mismatchFramings() {
		for _, reader := range mismatchFramings() {
			s.step("%s to %s", sender, reader)
			e, err := Mismatched(sender, reader)
			if err != nil {
				return err
			}
			v := judgeMismatch(e)
			if err := s.fault(sender+"-to-"+reader, v, e, adviseMismatch(v, e)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Mismatched sends three messages in one framing to a reader of another.
func Mismatched(sender, reader string) (Mismatch, error) {
	e := Mismatch{Sender: sender, Reader: reader}
	from, err := framers.Parse(sender)
	if err != nil {
		return e, err
	}
	to, err := framers.Parse(reader)
	if err != nil {
		return e, err
	}
	messages := mismatchMessages()
	first := e
	if err := first.send(from, to, messages[:1]); err != nil {
		return e, err
	}
	e.First = first.outcome()
	return e, e.send(from, to, messages)
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
	return Deliver(wire.Bytes(), true, func(r io.Reader) error { return e.receive(to.NewReader(r), messages) })
}

// outcome is what became of the only message sent.
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

// receive reads until the reader fails or wants more than there is.
func (e *Mismatch) receive(r framers.Reader, messages [][]byte) error {
	for {
		msg, err := r.ReadMessage()
		if errors.Is(err, ErrStarved) {
			e.Waits = true
			return nil
		}
		if err != nil {
			e.Error = err.Error()
			return nil
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
