package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
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

// judge lets the worst case decide: a reader that never leaves is stuck; one that delivers nothing
// more after an oddity loses what follows, loudly if it returns an error; one that skips the oddity
// is sound.
func (e *DirtyLines) judge() (Verdict, string) {
	worst := Sound
	how := "and the reader said so"
	var lost []string
	for _, c := range e.Cases {
		if c.Intact == c.Sent {
			continue
		}
		lost = append(lost, c.Oddity)
		if c.Error == "" && c.Skipped == 0 {
			worst = SilentLoss
			how = "without an error"
		} else if worst == Sound {
			worst = Noticed
		}
	}
	e.Summary = fmt.Sprintf("%s: all messages in %d of %d cases",
		e.Reader, len(e.Cases)-len(lost), len(e.Cases))
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
	{
		name:    "clean",
		lines:   messageA + "\n" + messageB + "\n",
		headers: headed(messageA) + headed(messageB),
	},
	{
		name:    "log line",
		lines:   messageA + "\nINFO: started\n" + messageB + "\n",
		headers: headed(messageA) + "INFO: started\n" + headed(messageB),
	},
	{
		name:  "NUL",
		lines: messageA + "\n\x00\n" + messageB + "\n",
	},
	{
		name:    "blank line",
		lines:   messageA + "\n\n" + messageB + "\n",
		headers: headed(messageA) + "\r\n" + headed(messageB),
	},
	{
		name:  "CR LF",
		lines: messageA + "\r\n" + messageB + "\r\n",
	},
	{
		name:  "trailing space",
		lines: messageA + "  \n" + messageB + "\n",
	},
	{
		name:  "newline inside",
		lines: `{"jsonrpc":"2.0",` + "\n" + `"id":1,"method":"a"}` + "\n" + messageB + "\n",
	},
	{
		name:  "two on a line",
		lines: messageA + messageB + "\n",
	},
	{
		name:    "malformed line",
		lines:   messageA + "\n{bad\n" + messageB + "\n",
		headers: headed(messageA) + headed("{bad") + headed(messageB),
	},
	{
		name:  "no last newline",
		lines: messageA + "\n" + messageB,
	},
}

func headed(msg string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(msg), msg) }

// A nextMessage returns the next message of a stream, io.EOF at its end.
type nextMessage func() ([]byte, error)

// lineReaders take streams apart into messages. They skip one that is no JSON, except the scanner.
var lineReaders = []struct {
	part, name string
	open       func(io.Reader) nextMessage
}{
	{"lines", "lines, bad ones skipped", openLines},
	{"scanner", "lines, the first bad one ends it", openScanner},
	{"read-line", "one byte a call until it is a newline, as printed", openReadLine},
	{"json-stream", "a JSON decoder on the stream", openDecoder},
	{"content-length", "headers", openHeaders},
}

func openLines(r io.Reader) nextMessage {
	return framers.NDJSON().NewReader(r).ReadMessage
}

func openHeaders(r io.Reader) nextMessage {
	return framers.ContentLength().NewReader(r).ReadMessage
}

func openScanner(r io.Reader) nextMessage {
	in := bufio.NewScanner(r)
	return func() ([]byte, error) {
		if !in.Scan() {
			if err := in.Err(); err != nil {
				return nil, err
			}
			return nil, io.EOF
		}
		if !json.Valid(in.Bytes()) {
			return nil, fmt.Errorf("invalid message %q", in.Text())
		}
		return in.Bytes(), nil
	}
}

func openReadLine(r io.Reader) nextMessage {
	return func() ([]byte, error) { return readLine(r) }
}

func openDecoder(r io.Reader) nextMessage {
	in := json.NewDecoder(r)
	return func() ([]byte, error) {
		var msg json.RawMessage
		err := in.Decode(&msg)
		return msg, err
	}
}

// errEndless is what becomes of a reader that reads on at the end of its input.
var errEndless = errors.New("still reads, long after the end of its input")

// readLine is a documented read_line, which compares each byte that it reads with a newline: at the
// end of the input a read brings none, for ever, but for the deadline here.
func readLine(r io.Reader) (line []byte, err error) {
	var ended time.Time
	char := make([]byte, 1)
	for {
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

func runDirtyLines(_ context.Context, r *recorder) error {
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
			err := TransferBytes([]byte(stream), false, func(in io.Reader) error {
				c.receive(reader.open(in))
				return nil
			})
			if err != nil {
				return err
			}
			e.Cases = append(e.Cases, c)
		}
		if err := r.record(reader.part, e); err != nil {
			return err
		}
	}
	return nil
}

// receive counts the messages that are A or B, spaces apart, to the end of the stream.
func (c *DirtyCase) receive(next nextMessage) {
	for {
		msg, err := next()
		if err == io.EOF {
			return
		}
		if err != nil {
			c.Error = err.Error()
			c.Endless = err == errEndless
			return
		}
		var compact bytes.Buffer
		if json.Compact(&compact, msg) != nil {
			c.Skipped++
		}
		switch compact.String() {
		case messageA:
			c.Intact++
		case messageB:
			c.Intact++
			c.Next = true
		}
	}
}
