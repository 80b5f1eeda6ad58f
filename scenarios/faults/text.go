package faults

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe/script"
)

// DirtyLines is the evidence of dirty-lines for one reader.
type DirtyLines struct {
	Summarised
	Reader string      `json:"reader"`
	Cases  []DirtyCase `json:"cases"`
}

// A DirtyCase is one stream.
type DirtyCase struct {
	Oddity  string `json:"oddity"`
	Sent    int    `json:"sent"`              // messages
	Intact  int    `json:"intact"`            // of them, delivered
	Skipped int    `json:"skipped"`           // lines that the reader gave up as bad
	Next    bool   `json:"next"`              // the message after the oddity arrived
	Endless bool   `json:"endless,omitempty"` // the reader read on at the end of its input
	Error   string `json:"error,omitempty"`
}

// judge lets the worst case decide: a reader that never leaves is stuck; one that delivers nothing more after an oddity loses what
// follows, loudly if it returns an error; one that skips the oddity is sound.
func (e *DirtyLines) judge() (Verdict, string) {
	worst, how := Sound, "and the reader said so"
	var lost []string
	for _, c := range e.Cases {
		if c.Intact == c.Sent {
			continue
		}
		lost = append(lost, c.Oddity)
		if c.Error == "" && c.Skipped == 0 {
			worst, how = SilentLoss, "without an error"
		} else if worst == Sound {
			worst = Noticed
		}
	}
	e.Summary = fmt.Sprintf("%s: all messages in %d of %d cases", e.Reader, len(e.Cases)-len(lost), len(e.Cases))
	if slices.ContainsFunc(e.Cases, func(c DirtyCase) bool { return c.Endless }) {
		return Stuck, advise("dirty-lines, endless")
	}
	if worst == Sound {
		return Sound, advise("dirty-lines, whole")
	}
	return worst, advise("dirty-lines, lost", how, strings.Join(lost, ", "))
}

const (
	messageA = `{"jsonrpc":"2.0","id":1,"method":"a"}`
	messageB = `{"jsonrpc":"2.0","id":2,"method":"b"}`
)

// oddities are streams of messages A and B with something odd in them, as lines, and with headers
// where that framing meets it too.
var oddities = []struct{ name, lines, headers string }{
	{"clean", messageA + "\n" + messageB + "\n", headed(messageA) + headed(messageB)},
	{"log line", messageA + "\nINFO: started\n" + messageB + "\n", headed(messageA) + "INFO: started\n" + headed(messageB)},
	{"NUL", messageA + "\n\x00\n" + messageB + "\n", ""},
	{"blank line", messageA + "\n\n" + messageB + "\n", headed(messageA) + "\r\n" + headed(messageB)},
	{"CR LF", messageA + "\r\n" + messageB + "\r\n", ""},
	{"trailing space", messageA + "  \n" + messageB + "\n", ""},
	{"newline inside", `{"jsonrpc":"2.0",` + "\n" + `"id":1,"method":"a"}` + "\n" + messageB + "\n", ""},
	{"two on a line", messageA + messageB + "\n", ""},
	{"malformed line", messageA + "\n{bad\n" + messageB + "\n", headed(messageA) + headed("{bad") + headed(messageB)},
	{"no last newline", messageA + "\n" + messageB, ""},
}

func headed(msg string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(msg), msg) }

// A nextMessage returns the next message of a stream, io.EOF at its end.
type nextMessage func() ([]byte, error)

// lineReaders take streams apart into messages. They skip one that is no JSON, except the scanner.
var lineReaders = []struct {
	part, name string
	open       func(io.Reader) nextMessage
}{
	{"lines", "lines, bad ones skipped", messagesOf(framers.NDJSON())},
	{"scanner", "lines, the first bad one ends it", func(r io.Reader) nextMessage {
		in := bufio.NewScanner(r)
		return func() ([]byte, error) {
			switch {
			case !in.Scan():
				return nil, cmp.Or(in.Err(), io.EOF)
			case !json.Valid(in.Bytes()):
				return nil, fmt.Errorf("invalid message %q", in.Text())
			}
			return in.Bytes(), nil
		}
	}},
	{"read-line", "one byte a call until it is a newline, as printed", func(r io.Reader) nextMessage {
		return func() ([]byte, error) { return readLine(r) }
	}},
	{"json-stream", "a JSON decoder on the stream", func(r io.Reader) nextMessage {
		in := json.NewDecoder(r)
		return func() ([]byte, error) {
			var msg json.RawMessage
			err := in.Decode(&msg)
			return msg, err
		}
	}},
	{"content-length", "headers", messagesOf(framers.ContentLength())},
}

// messagesOf opens a framing's reader.
func messagesOf(f framers.Framing) func(io.Reader) nextMessage {
	return func(r io.Reader) nextMessage { return f.NewReader(r).ReadMessage }
}

// errEndless is what becomes of a reader that reads on at the end of its input.
var errEndless = errors.New("still reads, long after the end of its input")

// readLine is a documented read_line, which compares each byte that it reads with a newline: at the
// end of the input a read brings none, for ever, but for the deadline here.
func readLine(r io.Reader) (line []byte, err error) {
	var ended time.Time
	for char := make([]byte, 1); ; {
		n, err := r.Read(char)
		switch {
		case err != nil && err != io.EOF:
			return nil, err
		case n == 0 && ended.IsZero():
			ended = time.Now()
		case n == 0 && time.Since(ended) > endlessAfter:
			return nil, errEndless
		case n > 0 && char[0] == '\n':
			return line, nil
		}
		line = append(line, char[:n]...)
	}
}

const endlessAfter = 50 * time.Millisecond

func runDirtyLines(_ context.Context, r *recorder) {
	for _, reader := range lineReaders {
		r.step("%s", reader.name)
		e := &DirtyLines{Reader: reader.name}
		for _, o := range oddities {
			stream := o.lines
			if reader.part == "content-length" {
				stream = o.headers
			}
			if stream == "" {
				continue // lines are no concern of this framing
			}
			c := DirtyCase{Oddity: o.name, Sent: 2}
			Deliver([]byte(stream), false, func(in io.Reader) { c.receive(reader.open(in)) })
			e.Cases = append(e.Cases, c)
		}
		r.report(reader.part, e)
	}
}

// receive counts the messages that are A or B, spaces apart, to the end of the stream.
func (c *DirtyCase) receive(next nextMessage) {
	for {
		msg, err := next()
		if err != nil && err != io.EOF {
			c.Error, c.Endless = err.Error(), err == errEndless
		}
		if err != nil {
			return
		}
		var compact bytes.Buffer
		if json.Compact(&compact, msg) != nil {
			c.Skipped++
		}
		got := compact.String()
		if got == messageA || got == messageB {
			c.Intact++
		}
		c.Next = c.Next || got == messageB
	}
}

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
	e.Summary = fmt.Sprintf("%d of %d messages intact, %d lost, %d altered", e.Intact, e.Messages, e.Lost, e.Altered)
	switch {
	case e.Altered > 0:
		return Corrupted, advise("split-utf8, altered", e.Altered)
	case e.Lost > 0:
		return SilentLoss, advise("split-utf8, lost", e.Lost, e.Cut)
	}
	return Sound, advise("split-utf8, whole")
}

// textReceivers join the data of the frames of one message.
var textReceivers = []struct {
	name string
	join func(frames [][]byte) ([]byte, bool)
}{
	{"bytes", func(frames [][]byte) ([]byte, bool) { return bytes.Join(frames, nil), true }},
	{"strict", func(frames [][]byte) ([]byte, bool) {
		cut := slices.ContainsFunc(frames, func(f []byte) bool { return !utf8.Valid(f) })
		return bytes.Join(frames, nil), !cut
	}},
	{"lossy", func(frames [][]byte) ([]byte, bool) {
		decoded := stat.Map(frames, func(f []byte) []byte { return bytes.ToValidUTF8(f, []byte("\uFFFD")) })
		return bytes.Join(decoded, nil), true
	}},
}

// textChunk is a frame of few characters, so that every offset comes up soon.
const textChunk = 71

func runSplitText(_ context.Context, r *recorder) {
	f := script.Must(framers.Chunked(textChunk))
	for _, receiver := range textReceivers {
		r.step("%s", receiver.name)
		e := &SplitText{Receiver: receiver.name, Chunk: textChunk}
		for width := 2; width <= 4; width++ {
			for offset := range width {
				c := sendText(f, receiver.join, width, offset)
				e.Cases = append(e.Cases, c)
				e.Messages++
				if c.Cut {
					e.Cut++
				}
				*map[string]*int{"intact": &e.Intact, "lost": &e.Lost, "altered": &e.Altered}[c.Outcome]++
			}
		}
		r.report(receiver.name, e)
	}
}

// sendText sends one message through a pipe to a receiver that works frame by frame.
func sendText(f framers.Chunker, join func([][]byte) ([]byte, bool), width, offset int) TextCase {
	c := TextCase{Width: width, Offset: offset}
	char := map[int]string{2: "é", 3: "€", 4: "😀"}[width]
	msg := []byte(`{"t":"` + strings.Repeat("x", offset) + strings.Repeat(char, 40) + `"}`)
	var wire bytes.Buffer
	script.Check(f.NewWriter(&wire).WriteMessage(msg))
	var frames [][]byte
	Deliver(wire.Bytes(), false, func(r io.Reader) {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			parts := bytes.SplitN(bytes.Clone(lines.Bytes()), []byte(":"), 4)
			if len(parts) != 4 {
				script.Check(errors.New("a frame without its header"))
			}
			frames = append(frames, parts[3])
			c.Cut = c.Cut || !utf8.Valid(parts[3])
		}
		script.Check(lines.Err())
	})
	got, ok := join(frames)
	switch {
	case !ok:
		c.Outcome = "lost"
	case bytes.Equal(got, msg):
		c.Outcome = "intact"
	default:
		c.Outcome = "altered"
	}
	return c
}
