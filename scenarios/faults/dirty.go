package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
)

var dirtyLines = Scenario{
	Misbehaviour: catalogue.Must(catalogue.Program, "dirty-lines"),
	Deadline:     time.Minute,
	run:          runDirtyLines,
}

// A Dirt is the evidence of dirty-lines for one reader.
type Dirt struct {
	Reader string     `json:"reader"`
	Cases  []DirtCase `json:"cases"`
}

// A DirtCase is one stream.
type DirtCase struct {
	Oddity  string `json:"oddity"`
	Sent    int    `json:"sent"`    // messages
	Intact  int    `json:"intact"`  // of them, delivered
	Skipped int    `json:"skipped"` // lines that the reader gave up as bad
	Next    bool   `json:"next"`    // the message after the oddity arrived
	Error   string `json:"error,omitempty"`
}

// judgeDirt is the rule of dirty-lines, the worst case deciding: a reader that
// delivers nothing more after an oddity loses what follows, loudly if it
// returns an error; one that skips the oddity is sound.
func judgeDirt(e Dirt) Verdict {
	worst := Sound
	for _, c := range e.Cases {
		switch {
		case c.Intact == c.Sent:
		case c.Error == "" && c.Skipped == 0:
			return SilentLoss
		default:
			worst = Noticed
		}
	}
	return worst
}

func adviseDirt(v Verdict, e Dirt) string {
	var lost []string
	for _, c := range e.Cases {
		if c.Intact < c.Sent {
			lost = append(lost, c.Oddity)
		}
	}
	cure := "Keep standard output for messages alone, send logs to standard error, and let a reader report a bad line and go on with the next one."
	switch {
	case v == Sound:
		return "Every message arrived, whatever was between them."
	case v == Noticed:
		return fmt.Sprintf("Messages were lost, and the reader said so (%s). %s", strings.Join(lost, ", "), cure)
	}
	return fmt.Sprintf("Messages were lost without an error (%s). %s", strings.Join(lost, ", "), cure)
}

const (
	messageA = `{"jsonrpc":"2.0","id":1,"method":"a"}`
	messageB = `{"jsonrpc":"2.0","id":2,"method":"b"}`
)

// oddities are streams of messages A and B with something odd in them.
var oddities = []struct{ name, stream string }{
	{"clean", messageA + "\n" + messageB + "\n"},
	{"log line", messageA + "\nINFO: started\n" + messageB + "\n"},
	{"NUL", messageA + "\n\x00\n" + messageB + "\n"},
	{"blank line", messageA + "\n\n" + messageB + "\n"},
	{"CR LF", messageA + "\r\n" + messageB + "\r\n"},
	{"trailing space", messageA + "  \n" + messageB + "\n"},
	{"newline inside", `{"jsonrpc":"2.0",` + "\n" + `"id":1,"method":"a"}` + "\n" + messageB + "\n"},
	{"two on a line", messageA + messageB + "\n"},
	{"malformed line", messageA + "\n{bad\n" + messageB + "\n"},
	{"no last newline", messageA + "\n" + messageB},
}

// dirtReaders read a stream and give each JSON message they find to keep; bad
// counts what they skip.
var dirtReaders = []struct {
	part, name string
	read       func(r io.Reader, keep func([]byte), bad func()) error
}{
	{"lines", "lines, bad ones skipped", func(r io.Reader, keep func([]byte), bad func()) error {
		in := framers.NDJSON().NewReader(r)
		for {
			msg, err := in.ReadMessage()
			if err != nil {
				return ignoreEnd(err)
			}
			keepJSON(msg, keep, bad)
		}
	}},
	{"scanner", "lines, the first bad one ends it", func(r io.Reader, keep func([]byte), bad func()) error {
		in := bufio.NewScanner(r)
		for in.Scan() {
			if !json.Valid(in.Bytes()) {
				return fmt.Errorf("invalid message %q", in.Text())
			}
			keep(in.Bytes())
		}
		return in.Err()
	}},
	{"json-stream", "a JSON decoder on the stream", func(r io.Reader, keep func([]byte), _ func()) error {
		in := json.NewDecoder(r)
		for {
			var msg json.RawMessage
			if err := in.Decode(&msg); err != nil {
				return ignoreEnd(err)
			}
			keep(msg)
		}
	}},
	{"content-length", "headers", func(r io.Reader, keep func([]byte), bad func()) error {
		in := framers.ContentLength().NewReader(r)
		for {
			msg, err := in.ReadMessage()
			if header := new(framers.HeaderError); errors.As(err, &header) {
				return err
			}
			if err != nil {
				return ignoreEnd(err)
			}
			keepJSON(msg, keep, bad)
		}
	}},
}

func ignoreEnd(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

func keepJSON(msg []byte, keep func([]byte), bad func()) {
	if json.Valid(msg) {
		keep(msg)
		return
	}
	bad()
}

func runDirtyLines(_ context.Context, s *stage) error {
	for _, reader := range dirtReaders {
		s.step("%s", reader.name)
		e := Dirt{Reader: reader.name}
		for _, o := range oddities {
			stream := o.stream
			if reader.part == "content-length" {
				if stream = headed(o.name); stream == "" {
					continue // lines are no concern of this framing
				}
			}
			c := DirtCase{Oddity: o.name, Sent: 2}
			err := Deliver([]byte(stream), false, func(r io.Reader) error {
				return reader.read(r, c.keep, func() { c.Skipped++ })
			})
			if err != nil {
				c.Error = err.Error()
			}
			e.Cases = append(e.Cases, c)
		}
		v := judgeDirt(e)
		if err := s.fault(reader.part, v, e, adviseDirt(v, e)); err != nil {
			return err
		}
	}
	return nil
}

// keep counts a message that is A or B, spaces apart.
func (c *DirtCase) keep(msg []byte) {
	var compact bytes.Buffer
	if json.Compact(&compact, msg) != nil {
		return
	}
	switch compact.String() {
	case messageA:
		c.Intact++
	case messageB:
		c.Intact++
		c.Next = true
	}
}

// headed is what the oddity is to a stream with headers.
func headed(oddity string) string {
	frame := func(msg string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(msg), msg) }
	a, b := frame(messageA), frame(messageB)
	switch oddity {
	case "clean":
		return a + b
	case "log line":
		return a + "INFO: started\n" + b
	case "blank line":
		return a + "\r\n" + b
	case "malformed line":
		return a + frame("{bad") + b
	}
	return ""
}
