package payload

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
)

// A Message is one message of a recording.
type Message struct {
	Dir    string          // "request" (client to server) or "reply"; "" if unknown
	Method string          // "" if the recording does not tell
	ID     json.RawMessage // nil if the recording does not tell
	Size   int             // bytes of the message, terminator not counted
	Body   []byte          // the message; nil if the recording kept none

	Redacted bool // values in the body were overwritten

	At time.Duration // when it had passed, since the recording began; 0 if unknown
}

// maxRecording bounds the messages of a recording: 1 GiB together.
const maxRecording = 1 << 30

// maxLine bounds a line of the file, in bytes: tap keeps messages of up to 16 MiB, and a control
// character takes six bytes in JSON.
const maxLine = 128 << 20

// ReadMessages reads what tap recorded, with bodies or without, or a file of messages, one a line.
// Blank lines are skipped; the last line needs no newline. In a recording every line that is not a
// message is skipped, a torn last line too.
func ReadMessages(path string) ([]Message, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	defer f.Close()
	messages, err := readMessages(f)
	if err != nil {
		return nil, fmt.Errorf("recording %s: %w", path, err)
	}
	return messages, nil
}

func readMessages(f io.Reader) ([]Message, error) {
	var l lines
	// The limit is for devices, whose lines may have no end.
	r := framers.NDJSON().NewReader(f, framers.WithMaxMessage(maxLine))
	for {
		line, err := r.ReadMessage()
		switch {
		case errors.As(err, new(*framers.TooLargeError)):
			return nil, fmt.Errorf("holds a line of more than %d bytes", maxLine)
		case err == io.EOF && len(l.messages) == 0:
			return nil, errors.New("holds no message; one a line is expected, or what tap recorded")
		case err == io.EOF:
			return l.messages, nil
		case err != nil:
			return nil, err
		}
		l.take(line)
		if l.total > maxRecording {
			return nil, fmt.Errorf("holds more than %d bytes; send a part of it", maxRecording)
		}
	}
}

// lines collects the messages of a file.
type lines struct {
	messages []Message
	total    int64
	recorded bool // the file is a recording: what is no record in it is no message either
}

func (l *lines) take(line []byte) {
	m, isRecord := recordIn(line)
	switch {
	case isRecord:
		l.recorded = true
		if m.Kind != results.KindMessage || m.Size <= 0 {
			return
		}
		size := int(min(m.Size, maxRecording+1))
		body := []byte(m.Body)
		if len(body) == 0 {
			body = nil
		} else {
			size = len(body)
		}
		l.messages = append(l.messages, Message{
			Dir: m.Dir, Method: m.Method, ID: m.ID, Size: size, Body: body,
			Redacted: m.Redacted, At: time.Duration(m.T),
		})
	case !l.recorded:
		l.messages = append(l.messages, Message{Size: len(line), Body: bytes.Clone(line)})
	default:
		return
	}
	l.total += int64(l.messages[len(l.messages)-1].Size)
}

// recordIn reads a line of a results file, and reports whether it is one: a line that is a message
// of a protocol has no kind, or no run.
func recordIn(line []byte) (results.Message, bool) {
	var m results.Message
	if !bytes.Contains(line, []byte(`"kind"`)) || json.Unmarshal(line, &m) != nil {
		return m, false
	}
	return m, m.Kind != "" && m.Run != ""
}

// Bytes returns the message. If its body was not kept, it makes JSON of the same size, which seed
// decides.
func (m Message) Bytes(seed int64) []byte {
	if m.Body != nil {
		return m.Body
	}
	b := make([]byte, m.Size)
	fillJSON(b, rand.New(rand.NewPCG(uint64(seed), uint64(m.Size))))
	return b
}

// A Recording is messages that once passed between two real programs, to be sent again in order,
// each with its own size.
type Recording struct {
	Messages [][]byte
	Hash     string // of the messages, 16 hexadecimal digits; names the recording in a cell
}

// ReadRecording reads the messages of both directions, in the order in which they passed; see
// [ReadMessages].
func ReadRecording(path string) (*Recording, error) {
	messages, err := ReadMessages(path)
	if err != nil {
		return nil, err
	}
	all := make([][]byte, len(messages))
	for i, m := range messages {
		all[i] = m.Bytes(int64(i))
	}
	return NewRecording(all), nil
}

// NewRecording makes a recording of messages. It keeps the slice.
func NewRecording(messages [][]byte) *Recording {
	h := sha256.New()
	for _, m := range messages {
		fmt.Fprintf(h, "%d:", len(m))
		h.Write(m)
	}
	return &Recording{Messages: messages, Hash: hex.EncodeToString(h.Sum(nil)[:8])}
}

// Source replays the recording, over and over.
func (r *Recording) Source() *Source { return &Source{bodies: r.Messages, head: -1, tail: -1} }
