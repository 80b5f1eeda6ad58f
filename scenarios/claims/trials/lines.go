package trials

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/experiment"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

func readLines(t *experiment.Trial) {
	readPieces(t)
	findIDs(t)
	skipOversized(t)
}

// readPieces sends lines whose ends fall on, before and behind every multiple of 4096, in pieces of
// several sizes, to this project's reader of 4096 bytes at a time and to the one that documents
// print.
func readPieces(t *experiment.Trial) {
	var messages [][]byte
	for _, size := range []int{4094, 4095, 4096, 4097, 8191, 8192, 100, 12_287, 50} {
		messages = append(messages, message(size))
	}
	wire := append(bytes.Join(messages, []byte("\n")), '\n')
	var ours, printed Count
	for _, piece := range []int{1, 100, 4095, 4096, 4097, 10_000} {
		in := framers.Rescan().NewReader(&pieces{wire, piece})
		got, _ := printedLines(&pieces{wire, piece})
		for i, want := range messages {
			name := fmt.Sprintf("%d B in pieces of %d B", len(want), piece)
			line, err := in.ReadMessage()
			ours.Add(name, err == nil && bytes.Equal(line, want))
			printed.Add(name, i < len(got) && bytes.Equal(got[i], want))
		}
	}
	ours.found(t, "trial/lines/rescan", "lines that come in pieces, delivered as sent")
	printed.found(t, "trial/lines/printed", "the same, by the reader as printed")

	got, refused := printedLines(strings.NewReader("\xff\n{}"))
	found(t, "trial/lines/printed-last", "it delivers a last line without a newline",
		len(got) == 1, "")
	found(t, "trial/lines/printed-text", "it calls a line that is no UTF-8 too large",
		refused > 0, "")
}

// pieces is a stream that gives a few bytes a read.
type pieces struct {
	left  []byte
	bytes int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.bytes)], p.left)
	p.left = p.left[n:]
	return n, nil
}

// printedLines is the reader that documents print, with its limit of 10 MiB. It returns the lines,
// and how many it called too large.
func printedLines(r io.Reader) (lines [][]byte, tooLarge int) {
	var buffer []byte
	chunk := make([]byte, 4096)
	for {
		n, _ := r.Read(chunk)
		if n == 0 {
			return lines, tooLarge // what is in the buffer goes
		}
		buffer = append(buffer, chunk[:n]...)
		for {
			line, rest, whole := bytes.Cut(buffer, []byte("\n"))
			if !whole {
				break
			}
			buffer = rest
			if len(line) > 10<<20 || !utf8.Valid(line) {
				tooLarge++
			} else if line = bytes.TrimSpace(line); len(line) > 0 {
				lines = append(lines, line)
			}
		}
	}
}

// findIDs looks for the id in the first KiB of requests of 64 KiB.
func findIDs(t *experiment.Trial) {
	params := `"params":{"text":"` + strings.Repeat("x", 64<<10) + `"}`
	var c Count
	for _, request := range []struct{ place, text string }{
		{"first", `{"id":7,"jsonrpc":"2.0","method":"m",` + params + `}`},
		{"before params", `{"jsonrpc":"2.0","id":7,"method":"m",` + params + `}`},
		{"last", `{"jsonrpc":"2.0","method":"m",` + params + `,"id":7}`},
	} {
		id, ok := jsonrpc.FindID([]byte(request.text[:1<<10]))
		c.Add(request.place, ok && string(id) == "7")
	}
	c.found(t, "trial/lines/id-in-1k", "places at which the id is in the first KiB")
}

// skipOversized sends an oversized request 1 and a small request 2 to a server that skips the
// first. All that it ever answers has come when it has left.
func skipOversized(t *experiment.Trial) {
	const limit = 64 << 10
	wire := append(message(2*limit), "\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n"...)
	in := framers.NDJSON().NewReader(bytes.NewReader(wire),
		framers.WithMaxMessage(limit), framers.WithPolicy(framers.Resync))
	var answered []string
	for {
		msg, err := in.ReadMessage()
		if err == io.EOF {
			break
		}
		var large *framers.TooLargeError
		if errors.As(err, &large) {
			continue
		}
		if !t.Check(err) {
			return
		}
		id, _ := jsonrpc.FindID(msg)
		answered = append(answered, string(id))
	}
	found(t, "trial/lines/skipped", "ids that are answered by a server that skips request 1",
		strings.Join(answered, ", "), "")
}

// sendAwkward sends messages with headers that a line could not carry, or would cut.
func sendAwkward(t *experiment.Trial) {
	var wire bytes.Buffer
	var c Count
	out := framers.ContentLength().NewWriter(&wire)
	in := framers.ContentLength().NewReader(&wire)
	for _, m := range []struct{ name, text string }{
		{"newline", "{\n}"},
		{"blank line", "a\r\n\r\nb"},
		{"header inside", "Content-Length: 5\r\n\r\nhello"},
		{"multi-byte text", "é€😀"},
		{"zero bytes", "\x00\x00\x00"},
		{"last", "{}"},
	} {
		t.Check(out.WriteMessage([]byte(m.text)))
		got, err := in.ReadMessage()
		c.Add(m.name, err == nil && string(got) == m.text)
	}
	c.found(t, "trial/headers/exact", "messages with a Content-Length, delivered as sent")
}
