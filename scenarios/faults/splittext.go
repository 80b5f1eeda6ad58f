package faults

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
)

var splitText = Scenario{
	Misbehaviour: catalogue.Must(catalogue.Program, "split-utf8"),
	Deadline:     time.Minute,
	run:          runSplitText,
}

// A Text is the evidence of split-utf8 for one receiver.
type Text struct {
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

func judgeText(e Text) Verdict {
	switch {
	case e.Altered > 0:
		return Corrupted
	case e.Lost > 0:
		return SilentLoss
	}
	return Sound
}

func adviseText(v Verdict, e Text) string {
	switch v {
	case Sound:
		return "The receiver puts the bytes of all chunks together before it decodes: where a chunk ends does not matter."
	case SilentLoss:
		return fmt.Sprintf("The receiver takes each frame for text of its own and drops one that is not valid: %d of the %d messages in which a chunk "+
			"ended inside a character never became whole. Split and join bytes; decode the message.", e.Lost, e.Cut)
	}
	return fmt.Sprintf("The receiver replaces what it cannot decode by U+FFFD: %d messages arrived as valid JSON with other text in them. "+
		"Split and join bytes; decode the message; search for U+FFFD where that is out of your hands.", e.Altered)
}

// textReceivers join the data of the frames of one message.
var textReceivers = []struct {
	name string
	join func(frames [][]byte) ([]byte, bool)
}{
	{"bytes", func(frames [][]byte) ([]byte, bool) { return bytes.Join(frames, nil), true }},
	{"strict", func(frames [][]byte) ([]byte, bool) {
		for _, f := range frames {
			if !utf8.Valid(f) {
				return nil, false
			}
		}
		return bytes.Join(frames, nil), true
	}},
	{"lossy", func(frames [][]byte) ([]byte, bool) {
		var text strings.Builder
		for _, f := range frames {
			text.WriteString(strings.ToValidUTF8(string(f), "\uFFFD"))
		}
		return []byte(text.String()), true
	}},
}

// textChunk is a frame of few characters, so that every offset comes up soon.
const textChunk = 71

func runSplitText(_ context.Context, s *stage) error {
	f, err := framers.Chunked(textChunk)
	if err != nil {
		return err
	}
	for _, receiver := range textReceivers {
		s.step("%s", receiver.name)
		e := Text{Receiver: receiver.name, Chunk: textChunk}
		for width := 2; width <= 4; width++ {
			for offset := range width {
				c, err := sendText(f, receiver.join, width, offset)
				if err != nil {
					return err
				}
				e.add(c)
			}
		}
		v := judgeText(e)
		if err := s.fault(receiver.name, v, e, adviseText(v, e)); err != nil {
			return err
		}
	}
	return nil
}

func (e *Text) add(c TextCase) {
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
	default:
		e.Altered++
	}
}

// sendText sends one message through a pipe to a receiver that works frame by
// frame.
func sendText(f framers.Chunker, join func([][]byte) ([]byte, bool), width, offset int) (TextCase, error) {
	c := TextCase{Width: width, Offset: offset}
	char := map[int]string{2: "é", 3: "€", 4: "😀"}[width]
	msg := []byte(`{"t":"` + strings.Repeat("x", offset) + strings.Repeat(char, 40) + `"}`)
	var wire bytes.Buffer
	if err := f.NewWriter(&wire).WriteMessage(msg); err != nil {
		return c, err
	}
	var frames [][]byte
	err := Deliver(wire.Bytes(), false, func(r io.Reader) error {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			parts := bytes.SplitN(bytes.Clone(lines.Bytes()), []byte(":"), 4)
			if len(parts) != 4 {
				return errors.New("a frame without its header")
			}
			frames = append(frames, parts[3])
			c.Cut = c.Cut || !utf8.Valid(parts[3])
		}
		return lines.Err()
	})
	if err != nil {
		return c, err
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
