package failures

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pipebench/pipebench/framers"
)

const (
	messageA = `{"jsonrpc":"2.0","id":1,"method":"a"}`
	messageB = `{"jsonrpc":"2.0","id":2,"method":"b"}`
)

// oddities are streams of the messages A and B with something odd in them, once in lines and once
// with headers. A stream is "" if the odd thing cannot occur in it.
var oddities = []struct{ name, lines, headers string }{
	{"clean", messageA + "\n" + messageB + "\n", headed(messageA) + headed(messageB)},
	{"log-line", messageA + "\nINFO: started\n" + messageB + "\n",
		headed(messageA) + "INFO: started\n" + headed(messageB)},
	{"nul", messageA + "\n\x00\n" + messageB + "\n", ""},
	{"blank-line", messageA + "\n\n" + messageB + "\n",
		headed(messageA) + "\r\n" + headed(messageB)},
	{"cr-lf", messageA + "\r\n" + messageB + "\r\n", ""},
	{"trailing-space", messageA + "  \n" + messageB + "\n", ""},
	{"newline-inside", `{"jsonrpc":"2.0",` + "\n" + `"id":1,"method":"a"}` + "\n" + messageB + "\n",
		""},
	{"two-on-a-line", messageA + messageB + "\n", ""},
	{"malformed-line", messageA + "\n{bad\n" + messageB + "\n",
		headed(messageA) + headed("{bad") + headed(messageB)},
	{"no-last-newline", messageA + "\n" + messageB, ""},
}

func headed(msg string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(msg), msg) }

// dirtyLines combines each odd stream with each of six readers. It adds the stream that
// awkwardMessages returns.
func dirtyLines() ([]reading, error) {
	sent := [][]byte{[]byte(messageA), []byte(messageB)}
	var all []reading
	for _, r := range []struct {
		name string
		open func(io.Reader) nextMessage
	}{
		{"lines", openFraming(framers.NDJSON())},
		{"scanner", openScanner},
		{"read-line", openReadLine},
		{"as-printed", openPrinted},
		{"json-stream", openDecoder},
		{"content-length", openFraming(framers.ContentLength())},
	} {
		for _, o := range oddities {
			wire := o.lines
			if r.name == "content-length" {
				wire = o.headers
			}
			if wire == "" {
				continue // the oddity cannot occur in this framing
			}
			part := r.name + "/" + o.name
			all = append(all, reading{
				part: part, sent: sent, wire: []byte(wire), open: r.open, parse: true,
			})
		}
	}
	awkward, err := awkwardMessages()
	return append(all, awkward), err
}

// awkwardMessages returns a stream of messages with headers. A reader of lines would cut some of
// them.
func awkwardMessages() (reading, error) {
	f := framers.ContentLength()
	sent := [][]byte{
		[]byte("{\n}"), []byte("a\r\n\r\nb"), []byte("Content-Length: 5\r\n\r\nhello"),
		[]byte("é€😀"), []byte("\x00\x00\x00"), []byte("{}"),
	}
	wire, err := encode(f, sent...)
	c := reading{part: "content-length/any-bytes", sent: sent, wire: wire, open: openFraming(f)}
	return c, err
}

// openFraming returns a function that reads a stream with the reader of a framing.
func openFraming(f framers.Framing, o ...framers.Option) func(io.Reader) nextMessage {
	return func(r io.Reader) nextMessage { return f.NewReader(r, o...).ReadMessage }
}

// mismatches returns streams of messages that are written in one framing and read in another. For
// each pair of framings, there is a stream of one message, and a stream of several.
func mismatches() ([]reading, error) {
	specs := []string{"ndjson", "content-length", "length-prefix", "chunked:4096", "adaptive:4096"}
	large := `{"jsonrpc":"2.0","id":3,"text":"` + strings.Repeat("x", 20_000) + `"}`
	sent := [][]byte{[]byte(messageA), []byte(messageB), []byte(large)}
	var all []reading
	for _, sender := range specs {
		from, err := framers.Parse(sender)
		if err != nil {
			return nil, err
		}
		first, err := encode(from, sent[:1]...)
		if err != nil {
			return nil, err
		}
		whole, err := encode(from, sent...)
		if err != nil {
			return nil, err
		}
		for _, reader := range specs {
			to, err := framers.Parse(reader)
			if err != nil {
				return nil, err
			}
			c := reading{
				part: sender + "-to-" + reader,
				sent: sent[:1], wire: first, open: openFraming(to), staysOpen: true,
			}
			all = append(all, c)
			c.sent = sent
			c.wire = whole
			all = append(all, c)
		}
	}
	return all, nil
}

// encode returns the bytes that a framing writes for the messages.
func encode(f framers.Framing, messages ...[]byte) ([]byte, error) {
	var wire bytes.Buffer
	w := f.NewWriter(&wire)
	for _, msg := range messages {
		if err := w.WriteMessage(msg); err != nil {
			return nil, err
		}
	}
	return wire.Bytes(), nil
}

// padded returns a message of exactly size bytes, which must be at least 50.
func padded(method string, size int) []byte {
	head := `{"jsonrpc":"2.0","method":"` + method + `","pad":"`
	return []byte(head + strings.Repeat(method[:1], size-len(head)-2) + `"}`)
}

const (
	mixedSize = 20_011 // bytes of a message: no system keeps a write of this size in one piece
	cutAt     = 2_000  // where the first message is cut, in bytes
)

// mixedWriters returns streams in which the message of one writer comes inside the message of
// another writer. A third message follows.
func mixedWriters() ([]reading, error) {
	var sent [][]byte
	for _, letter := range []string{"a", "b", "c"} {
		sent = append(sent, padded(letter, mixedSize))
	}
	var all []reading
	for _, spec := range []string{
		"ndjson", "content-length", "length-prefix", "chunked:4096", "chunked:61440",
	} {
		f, err := framers.Parse(spec)
		if err != nil {
			return nil, err
		}
		var each [][]byte
		for _, msg := range sent {
			wire, err := encode(f, msg)
			if err != nil {
				return nil, err
			}
			each = append(each, wire)
		}
		wire := slices.Concat(each[0][:cutAt], each[1], each[0][cutAt:], each[2])
		open := openFraming(f, framers.WithPolicy(framers.Resync), framers.WithVerbatim(),
			framers.WithMaxMessage(4*mixedSize))
		all = append(all, reading{
			part: spec, sent: sent, wire: wire, open: open, readsOn: true,
		})
	}
	return all, nil
}

// textChunk is the size of a frame, in bytes. With such small frames, some chunks end at each place
// inside a character.
const textChunk = 71

// splitCharacters returns streams of messages in small chunks, with characters of 2, 3 or 4 bytes.
// Some receivers turn each chunk into text before they join the chunks.
func splitCharacters() ([]reading, error) {
	f, err := framers.Chunked(textChunk)
	if err != nil {
		return nil, err
	}
	var sent [][]byte
	for _, char := range []string{"é", "€", "😀"} {
		for offset := range len(char) {
			text := strings.Repeat("x", offset) + strings.Repeat(char, 40)
			sent = append(sent, []byte(`{"t":"`+text+`"}`))
		}
	}
	wire, err := encode(f, sent...)
	if err != nil {
		return nil, err
	}
	return []reading{
		{part: "bytes", sent: sent, wire: wire, open: openFraming(f)},
		{part: "strict", sent: sent, wire: wire, open: openJoining(f, joinStrict)},
		{part: "lossy", sent: sent, wire: wire, open: openJoining(f, joinLossy)},
	}, nil
}

// openJoining reads chunks, and calls the function join to put the chunks of each message together.
// It skips a message for which join returns false.
func openJoining(
	f framers.Framing, join func([][]byte) ([]byte, bool),
) func(io.Reader) nextMessage {
	return func(r io.Reader) nextMessage {
		var chunks [][]byte
		in := f.NewReader(r, framers.WithProgress(func(c framers.Chunk) {
			chunks = append(chunks, bytes.Clone(c.Data))
		}))
		return func() ([]byte, error) {
			for {
				chunks = nil
				if _, err := in.ReadMessage(); err != nil {
					return nil, err
				}
				if msg, ok := join(chunks); ok {
					return msg, nil
				}
			}
		}
	}
}

// joinStrict returns false for a message if one of its chunks is not valid UTF-8.
func joinStrict(chunks [][]byte) (msg []byte, ok bool) {
	for _, c := range chunks {
		if !utf8.Valid(c) {
			return nil, false
		}
	}
	return bytes.Join(chunks, nil), true
}

// joinLossy replaces invalid UTF-8 in each chunk, and then joins the chunks.
func joinLossy(chunks [][]byte) (msg []byte, ok bool) {
	for _, c := range chunks {
		msg = append(msg, bytes.ToValidUTF8(c, []byte("\uFFFD"))...)
	}
	return msg, true
}
