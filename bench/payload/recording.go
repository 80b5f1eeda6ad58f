package payload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// A Recording is messages that once passed between two real programs, to be
// sent again in order, each with its own size.
type Recording struct {
	Messages [][]byte
	Hash     string // of the messages, 16 hexadecimal digits; names the recording in a cell
}

// ReadRecording reads the messages of both directions, in the order in which
// they passed; see [ReadMessages].
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

// NewRecording makes a recording of messages, which it keeps.
func NewRecording(messages [][]byte) *Recording {
	h := sha256.New()
	for _, m := range messages {
		fmt.Fprintf(h, "%d:", len(m))
		h.Write(m)
	}
	return &Recording{Messages: messages, Hash: hex.EncodeToString(h.Sum(nil)[:8])}
}

// Source replays the recording, over and over.
func (r *Recording) Source() *Source {
	return &Source{bodies: r.Messages, head: -1, tail: -1}
}
