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

	At time.Duration // when the message had passed, since the recording began; 0 if unknown
}

// maxRecording is the largest number of bytes that all messages of a recording may have together.
const maxRecording = 1 << 30

// maxLine is the longest line of a file, in bytes. A message of up to 16 MiB may be recorded, and
// take six times as many bytes in JSON.
const maxLine = 128 << 20

// ReadMessages reads messages from a file: a recording made by the command "pipebench tap", or a
// file with one message per line. It skips blank lines and, in a recording, all records that are
// not messages.
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
	var c collector
	// Limit the length of a line, because the path may name a device that never ends a line.
	r := framers.NDJSON().NewReader(f, framers.WithMaxMessage(maxLine))
	for {
		line, err := r.ReadMessage()
		switch {
		case errors.As(err, new(*framers.TooLargeError)):
			return nil, fmt.Errorf("holds a line of more than %d bytes", maxLine)
		case err == io.EOF && len(c.messages) == 0:
			return nil, errors.New("holds no message; one a line is expected, or what tap recorded")
		case err == io.EOF:
			return c.messages, nil
		case err != nil:
			return nil, err
		}
		c.addLine(line)
		if c.total > maxRecording {
			return nil, fmt.Errorf("holds more than %d bytes; send a part of it", maxRecording)
		}
	}
}

// A collector collects the messages of a file from its lines.
type collector struct {
	messages    []Message
	total       int64 // bytes of the messages
	isRecording bool  // made by "pipebench tap": only records in the file count as messages
}

func (c *collector) addLine(line []byte) {
	record, isRecord := parseRecord(line)
	if isRecord {
		c.isRecording = true
		if record.Kind == results.KindMessage && record.Size > 0 && !record.Untaken {
			c.add(recordedMessage(record))
		}
	} else if !c.isRecording {
		c.add(Message{Size: len(line), Body: bytes.Clone(line)})
	}
}

func (c *collector) add(m Message) {
	c.messages = append(c.messages, m)
	c.total += int64(m.Size)
}

func recordedMessage(r results.Message) Message {
	m := Message{
		Dir: r.Dir, Method: r.Method, ID: r.ID, Redacted: r.Redacted, At: time.Duration(r.T),
		Size: int(min(r.Size, maxRecording+1)), // any size above maxRecording is refused
	}
	if len(r.Body) > 0 {
		m.Body = []byte(r.Body)
		if r.Exact != nil {
			m.Body = r.Exact
		}
		m.Size = len(m.Body)
	}
	return m
}

// parseRecord parses a line that may be a record of a results file. The result isRecord is false if
// the line itself is a message, such as a JSON-RPC request.
func parseRecord(line []byte) (m results.Message, isRecord bool) {
	if !bytes.Contains(line, []byte(`"kind"`)) || json.Unmarshal(line, &m) != nil {
		return m, false
	}
	return m, m.Kind != "" && m.Run != ""
}

// Bytes returns the bytes of the message. If only the size of the message was recorded, Bytes makes
// JSON of that size from seed.
func (m Message) Bytes(seed int64) []byte {
	if m.Body != nil {
		return m.Body
	}
	b := make([]byte, m.Size)
	fillJSON(b, rand.New(rand.NewPCG(uint64(seed), uint64(m.Size))))
	return b
}

// A Recording holds messages that once passed between two real programs, to be sent again.
type Recording struct {
	Messages [][]byte
	Hash     string // of the messages: 16 hexadecimal digits, which a [results.Cell] names
}

// ReadRecording reads a file of messages; see [ReadMessages]. The messages of both directions stay
// in the order in which they passed.
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

// NewRecording makes a recording of messages. It keeps the slice, so the caller must not change it
// afterwards.
func NewRecording(messages [][]byte) *Recording {
	h := sha256.New()
	for _, m := range messages {
		fmt.Fprintf(h, "%d:", len(m))
		h.Write(m)
	}
	return &Recording{Messages: messages, Hash: hex.EncodeToString(h.Sum(nil)[:8])}
}

// Source returns a source that replays the recording, over and over. Its messages carry no numbers.
func (r *Recording) Source() *Source { return &Source{bodies: r.Messages, head: -1, tail: -1} }
