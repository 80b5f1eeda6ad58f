package framers_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
)

// A behaviour is a cell of the tables in the package documentation: what it says, and the stream
// and its outcome that show it. The messages around the oddity are A and B.
type behaviour struct {
	says string
	wire string
	want string // outcomes, with "|" between them
}

// oddities are the lines of the tables, in order.
var oddities = []string{
	"blank line", "CR LF", "space around", "cut at the end", "garbage before",
	"beyond the limit", "same, Resync", "chunks interleaved", "chunk twice", "chunk missing",
	"sending empty", "sending a newline",
}

// columns have what each framing does. An oddity that a framing cannot meet is missing in it.
var columns = []struct {
	framing string
	does    map[string]behaviour
}{
	{"ndjson", map[string]behaviour{
		"blank line":     {"skipped", "A\n\nB\n", "A|B|EOF"},
		"CR LF":          {"as LF", "A\r\nB\r\n", "A|B|EOF"},
		"space around":   {"dropped", " A\t\nB\n", "A|B|EOF"},
		"cut at the end": {"a message", "A\nB", "A|B|EOF"},
		"garbage before": {"a message", "A\ngarbage\nB\n", "A|garbage|B|EOF"},
		"beyond the limit": {"TooLargeError, the end",
			"A\n" + nine + "\nB\n", "A|too large"},
		"same, Resync":      {"next read", "A\n" + nine + "\nB\n", "A|too large|B|EOF"},
		"sending empty":     {says: "ErrEmpty"},
		"sending a newline": {says: "ErrNewline"},
	}},
	{"content-length", map[string]behaviour{
		"blank line": {"ErrNoLength",
			header("A") + "\r\n" + header("B"), "A|no length|B|EOF"},
		"CR LF":        {"and LF", "Content-Length: 1\n\nA" + header("B"), "A|B|EOF"},
		"space around": {"kept", header(" A ") + header("B"), " A |B|EOF"},
		"cut at the end": {"ErrUnexpectedEOF",
			header("A") + header("B")[:20], "A|unexpected EOF"},
		"garbage before": {"HeaderError, next read",
			header("A") + "garbage\n" + header("B"), "A|no colon|B|EOF"},
		"beyond the limit": {"TooLargeError, the end",
			header("A") + header(nine) + header("B"), "A|too large"},
		"same, Resync": {"next read",
			header("A") + header(nine) + header("B"), "A|too large|B|EOF"},
		"sending empty":     {says: "sent"},
		"sending a newline": {says: "sent"},
	}},
	{"length-prefix", map[string]behaviour{
		"blank line":   {"a length", prefix("A") + "\n\n\n\n", "A|too large"},
		"CR LF":        {"data", prefix("A\r\n") + prefix("B"), "A\r\n|B|EOF"},
		"space around": {"kept", prefix(" A ") + prefix("B"), " A |B|EOF"},
		"cut at the end": {"ErrUnexpectedEOF",
			prefix("A") + prefix("B")[:4], "A|unexpected EOF"},
		"garbage before": {"a length",
			prefix("A") + "garbage\n" + prefix("B"), "A|too large"},
		"beyond the limit": {"TooLargeError, the end",
			prefix("A") + prefix(nine) + prefix("B"), "A|too large"},
		"same, Resync": {"next read",
			prefix("A") + prefix(nine) + prefix("B"), "A|too large|B|EOF"},
		"sending empty":     {says: "sent"},
		"sending a newline": {says: "sent"},
	}},
	{"chunked", map[string]behaviour{
		"blank line":     {"skipped", "i:0:1:A\n\nj:0:1:B\n", "A|B|EOF"},
		"CR LF":          {"CR is data", "i:0:1:A\r\nj:0:1:B\n", "A\r|B|EOF"},
		"space around":   {"kept", "i:0:1: A \nj:0:1:B\n", " A |B|EOF"},
		"cut at the end": {"ErrUnexpectedEOF", "i:0:1:A\nj:0:1:B", "A|unexpected EOF"},
		"garbage before": {"ErrMalformed, next read",
			"i:0:1:A\ngarbage\nj:0:1:B\n", "A|malformed|B|EOF"},
		"beyond the limit": {"TooLargeError, the end",
			"i:0:1:A\nk:0:1:" + nine + "\nj:0:1:B\n", "A|too large"},
		"same, Resync": {"next read",
			"i:0:1:A\nk:0:1:" + nine + "\nj:0:1:B\n", "A|too large|B|EOF"},
		"chunks interleaved": {"reassembled",
			"i:0:2:A\nj:0:2:B\ni:1:2:a\nj:1:2:b\n", "Aa|Bb|EOF"},
		"chunk twice": {"ErrDuplicate, goes on",
			"i:0:2:A\ni:0:2:A\ni:1:2:B\n", "0 duplicate|AB|EOF"},
		"chunk missing": {"ErrMissing, ErrExpired",
			"i:0:2:A\nj:0:1:B\n", "B|1 missing|EOF"},
		"sending empty":     {says: "sent"},
		"sending a newline": {says: "ErrNewline"},
	}},
	{"adaptive", map[string]behaviour{
		"blank line": {"skipped", "A\n\n" + uuid + ":0:1:B\n", "A|B|EOF"},
		"CR LF":      {"as LF, in a frame data", "A\r\n" + uuid + ":0:1:B\r\n", "A|B\r|EOF"},
		"space around": {"dropped, in a frame kept",
			" A\n" + uuid + ":0:1: B\n", "A| B|EOF"},
		"cut at the end": {"a line a message", "A\n{B", "A|{B|EOF"},
		"garbage before": {"a message",
			"A\ngarbage\n" + uuid + ":0:1:B\n", "A|garbage|B|EOF"},
		"beyond the limit": {"TooLargeError, the end",
			"A\n" + nine + "\nB\n", "A|too large"},
		"same, Resync": {"next read", "A\n" + nine + "\nB\n", "A|too large|B|EOF"},
		"chunks interleaved": {"reassembled",
			uuid + ":0:2:A\nB\n" + uuid + ":1:2:a\n", "B|Aa|EOF"},
		"chunk twice": {"ErrDuplicate, goes on",
			uuid + ":0:2:A\n" + uuid + ":0:2:A\n" + uuid + ":1:2:B\n", "0 duplicate|AB|EOF"},
		"chunk missing": {"ErrMissing, ErrExpired",
			uuid + ":0:2:A\nB\n", "B|1 missing|EOF"},
		"sending empty":     {says: "sent as a frame"},
		"sending a newline": {says: "ErrNewline"},
	}},
}

// The table has each listed framing but raw, which tells no messages apart, and readers that take
// ndjson in other ways.
func TestBehavioursOfEachFraming(t *testing.T) {
	for _, f := range framers.All() {
		name, _, _ := strings.Cut(f.String(), ":")
		isSpecial := name == "raw" || strings.HasPrefix(name, "ndjson-")
		if !isSpecial && !tabled(name) {
			t.Errorf("%s is not in the table of behaviours (columns, and doc.go)", name)
		}
	}
}

func tabled(framing string) bool {
	for _, column := range columns {
		if column.framing == framing {
			return true
		}
	}
	return false
}

const (
	uuid = "0123abcd-4567-89ab-cdef-0123456789ab"
	nine = "123456789" // one more than the limit of the table
)

func header(body string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

func prefix(body string) string { return "\x00\x00\x00" + string(rune(len(body))) + body }

// happened is outcomes with the headers' errors, ending at the first error that stays.
func happened(r framers.Reader) (got []string) {
	seen := map[error]bool{}
	for range 20 {
		msg, err := r.ReadMessage()
		var header *framers.HeaderError
		var chunk *framers.ChunkError
		var large *framers.TooLargeError
		switch {
		case err == nil:
			got = append(got, string(msg))
			continue
		case seen[err]:
			return got
		case errors.Is(err, framers.ErrNoLength):
			got = append(got, "no length")
		case errors.Is(err, framers.ErrNoColon):
			got = append(got, "no colon")
		case errors.As(err, &header):
			got = append(got, err.Error())
		case errors.As(err, &large):
			got = append(got, "too large")
		case errors.As(err, &chunk):
			got = append(got, outcomes(&once{err})[0])
		default:
			return append(got, err.Error())
		}
		seen[err] = true
	}
	return got
}

// once returns an error, then the end.
type once struct{ err error }

func (o *once) ReadMessage() ([]byte, error) {
	err := o.err
	o.err = io.EOF
	return nil, err
}

func TestBehaviours(t *testing.T) {
	for _, column := range columns {
		f := mustParse(t, column.framing)
		for oddity, cell := range column.does {
			t.Run(oddity+"/"+column.framing, func(t *testing.T) {
				switch oddity {
				case "sending empty":
					checkSending(t, f, "", cell.says)
				case "sending a newline":
					checkSending(t, f, "A\nB", cell.says)
				case "same, Resync":
					checkReading(t, f, cell, framers.WithPolicy(framers.Resync))
				default:
					checkReading(t, f, cell)
				}
			})
		}
	}
}

func checkReading(t *testing.T, f framers.Framing, cell behaviour, opts ...framers.Option) {
	opts = append(opts, framers.WithMaxMessage(len(nine)-1))
	for _, cut := range cuts {
		r := f.NewReader(cut.Cut(strings.NewReader(cell.wire)), opts...)
		if got := strings.Join(happened(r), "|"); got != cell.want {
			t.Errorf("%s: got %q, want %q", cut.Name, got, cell.want)
		}
	}
}

func checkSending(t *testing.T, f framers.Framing, msg, says string) {
	err := f.NewWriter(io.Discard).WriteMessage([]byte(msg))
	switch says {
	case "ErrEmpty":
		if !errors.Is(err, framers.ErrEmpty) {
			t.Error(err)
		}
	case "ErrNewline":
		if !errors.Is(err, framers.ErrNewline) {
			t.Error(err)
		}
	case "sent as a frame":
		wire := string(encode(t, f, [][]byte{[]byte(msg)}))
		if !strings.HasSuffix(wire, ":0:1:"+msg+"\n") {
			t.Errorf("wrote %q", wire)
		}
	default:
		if err != nil {
			t.Error(err)
		}
	}
}

// The package documentation shows the table that TestBehaviours tests.
func TestDocumentedBehaviours(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range tableLines() {
		if !strings.Contains(string(doc), "//\t"+line+"\n") {
			t.Errorf("doc.go lacks\n//\t%s", line)
		}
	}
}

// tableLines lays out the two tables of the documentation: of the framings that split messages, and
// of the others. An oddity that none of its framings can meet is no line of a table.
func tableLines() []string {
	var rest, split []int
	for i, column := range columns {
		if _, splits := column.does["chunk twice"]; splits {
			split = append(split, i)
		} else {
			rest = append(rest, i)
		}
	}
	return append(layOut(rest), layOut(split)...)
}

func layOut(of []int) (lines []string) {
	head := []string{""}
	for _, i := range of {
		head = append(head, columns[i].framing)
	}
	rows := [][]string{head}
	for _, oddity := range oddities {
		cells := []string{oddity}
		met := false
		for _, i := range of {
			cell, can := columns[i].does[oddity]
			cells = append(cells, cmp.Or(cell.says, "-"))
			met = met || can
		}
		if met {
			rows = append(rows, cells)
		}
	}
	for _, cells := range rows {
		var line string
		for column, cell := range cells {
			width := 0
			for _, other := range rows {
				width = max(width, len(other[column]))
			}
			line += fmt.Sprintf("%-*s  ", width, cell)
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}
