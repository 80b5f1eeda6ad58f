package payload

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// A Recording is messages that once passed between two real programs, to be
// sent again in order, each with its own size.
type Recording struct {
	Messages [][]byte
	Hash     string // of the messages, 16 hexadecimal digits; names the recording in a cell
}

// maxRecording bounds a recording held in memory: 1 GiB.
const maxRecording = 1 << 30

// ReadRecording reads a file of newline-delimited messages. Blank lines are
// skipped; the last line needs no newline.
func ReadRecording(path string) (*Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	defer f.Close()
	messages, err := readLines(f)
	if err != nil {
		return nil, fmt.Errorf("recording %s: %w", path, err)
	}
	return NewRecording(messages), nil
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

func readLines(f io.Reader) ([][]byte, error) {
	var messages [][]byte
	total := 0
	r := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if m := bytes.TrimSpace(line); len(m) > 0 {
			messages = append(messages, m)
		}
		if total += len(line); total > maxRecording {
			return nil, fmt.Errorf("holds more than %d bytes; send a part of it", maxRecording)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if len(messages) == 0 {
		return nil, errors.New("holds no message; one a line is expected")
	}
	return messages, nil
}
