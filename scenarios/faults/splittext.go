package faults

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pipebench/pipebench/framers"
)

// SplitText is the evidence of split-utf8 for one receiver.
type SplitText struct {
	Summarised
	Receiver string     `json:"receiver"` // "bytes", "strict" or "lossy"
	Chunk    int        `json:"chunk"`    // bytes of a frame at most
	Messages int        `json:"messages"`
	Cut      int        `json:"cut"` // messages in which a frame ended inside a character
	Intact   int        `json:"intact"`
	Lost     int        `json:"lost"`
	Altered  int        `json:"altered"`
	Cases    []TextCase `json:"cases"`
}

// A TextCase is one message.
type TextCase struct {
	Width   int    `json:"width"`  // bytes of a character
	Offset  int    `json:"offset"` // bytes before the first one
	Cut     bool   `json:"cut"`
	Outcome string `json:"outcome"` // "intact", "lost" or "altered"
}

func (e *SplitText) judge() (Verdict, string) {
	e.Summary = fmt.Sprintf("%d of %d messages intact, %d lost, %d altered",
		e.Intact, e.Messages, e.Lost, e.Altered)
	switch {
	case e.Altered > 0:
		return Corrupted, advise("split-utf8, altered", e.Altered)
	case e.Lost > 0:
		return SilentLoss, advise("split-utf8, lost", e.Lost, e.Cut)
	}
	return Sound, advise("split-utf8, whole")
}

// A joinFrames joins the data of the frames of one message. It returns false if it gives the
// message up.
type joinFrames func(frames [][]byte) (msg []byte, ok bool)

var textReceivers = []struct {
	name string
	join joinFrames
}{
	{"bytes", joinBytes},
	{"strict", joinStrict},
	{"lossy", joinLossy},
}

// joinBytes decodes nothing before the message is whole.
func joinBytes(frames [][]byte) (msg []byte, ok bool) { return bytes.Join(frames, nil), true }

// joinStrict gives up a message of which one frame is no valid UTF-8.
func joinStrict(frames [][]byte) (msg []byte, ok bool) {
	for _, f := range frames {
		if !utf8.Valid(f) {
			return nil, false
		}
	}
	return bytes.Join(frames, nil), true
}

// joinLossy replaces what is no valid UTF-8 in a frame.
func joinLossy(frames [][]byte) (msg []byte, ok bool) {
	for _, f := range frames {
		msg = append(msg, bytes.ToValidUTF8(f, []byte("\uFFFD"))...)
	}
	return msg, true
}

// textChunk is a frame of few characters, so that every offset comes up soon.
const textChunk = 71

// textChars are characters of 2, 3 and 4 bytes.
var textChars = []string{"é", "€", "😀"}

func runSplitText(_ context.Context, r *recorder) error {
	f, err := framers.Chunked(textChunk)
	if err != nil {
		return err
	}
	for _, receiver := range textReceivers {
		r.step("%s", receiver.name)
		e := &SplitText{Receiver: receiver.name, Chunk: textChunk}
		for _, char := range textChars {
			for offset := range len(char) {
				c, err := sendText(f, receiver.join, char, offset)
				if err != nil {
					return err
				}
				e.add(c)
			}
		}
		if err := r.record(receiver.name, e); err != nil {
			return err
		}
	}
	return nil
}

// add counts one message.
func (e *SplitText) add(c TextCase) {
	e.Cases = append(e.Cases, c)
	e.Messages++
	if c.Cut {
		e.Cut++
	}
	switch c.Outcome {
	case "intact":
		e.Intact++
	case "lost":
		e.Lost++
	case "altered":
		e.Altered++
	}
}

// sendText sends one message through a pipe to a receiver that works frame by frame.
func sendText(f framers.Chunker, join joinFrames, char string, offset int) (TextCase, error) {
	c := TextCase{Width: len(char), Offset: offset}
	msg := []byte(`{"t":"` + strings.Repeat("x", offset) + strings.Repeat(char, 40) + `"}`)
	var wire bytes.Buffer
	if err := f.NewWriter(&wire).WriteMessage(msg); err != nil {
		return TextCase{}, err
	}
	var frames [][]byte
	err := TransferBytes(wire.Bytes(), false, func(r io.Reader) error {
		var err error
		frames, err = readFrames(r)
		return err
	})
	if err != nil {
		return TextCase{}, err
	}
	for _, data := range frames {
		if !utf8.Valid(data) {
			c.Cut = true
		}
	}
	got, ok := join(frames)
	switch {
	case !ok:
		c.Outcome = "lost"
	case bytes.Equal(got, msg):
		c.Outcome = "intact"
	default:
		c.Outcome = "altered"
	}
	return c, nil
}

// readFrames returns the data of all frames of a stream.
func readFrames(r io.Reader) ([][]byte, error) {
	var frames [][]byte
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		parts := bytes.SplitN(bytes.Clone(lines.Bytes()), []byte(":"), 4)
		if len(parts) != 4 {
			return nil, errors.New("a frame without its header")
		}
		frames = append(frames, parts[3])
	}
	return frames, lines.Err()
}
