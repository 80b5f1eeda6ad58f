package framers_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
)

// A behaviour is a cell of the table in the package documentation: what it says, and the stream and
// its outcome that show it. The messages around the oddity are A and B.
type behaviour struct {
	says string
	wire string
	want []string
	opts []framers.Option
}

// table is the one of the package documentation: an oddity, then ndjson, content-length, chunked,
// adaptive, length-prefix.
var table = []struct {
	oddity string
	cells  [5]behaviour
}{
	{"blank line", [5]behaviour{
		{says: "skipped", wire: "A\n\nB\n", want: []string{"A", "B", "EOF"}},
		{says: "ErrNoLength", wire: header("A") + "\r\n" + header("B"), want: []string{"A", "no length", "B", "EOF"}},
		{says: "skipped", wire: "i:0:1:A\n\nj:0:1:B\n", want: []string{"A", "B", "EOF"}},
		{says: "skipped", wire: "A\n\n" + uuid + ":0:1:B\n", want: []string{"A", "B", "EOF"}},
		{says: "a length", wire: prefix("A") + "\n\n\n\n", want: []string{"A", "too large"}},
	}},
	{"CR LF", [5]behaviour{
		{says: "as LF", wire: "A\r\nB\r\n", want: []string{"A", "B", "EOF"}},
		{says: "and LF", wire: "Content-Length: 1\n\nA" + header("B"), want: []string{"A", "B", "EOF"}},
		{says: "CR is data", wire: "i:0:1:A\r\nj:0:1:B\n", want: []string{"A\r", "B", "EOF"}},
		{says: "as LF, in a frame data", wire: "A\r\n" + uuid + ":0:1:B\r\n", want: []string{"A", "B\r", "EOF"}},
		{says: "data", wire: prefix("A\r\n") + prefix("B"), want: []string{"A\r\n", "B", "EOF"}},
	}},
	{"space around", [5]behaviour{
		{says: "dropped", wire: " A\t\nB\n", want: []string{"A", "B", "EOF"}},
		{says: "kept", wire: header(" A ") + header("B"), want: []string{" A ", "B", "EOF"}},
		{says: "kept", wire: "i:0:1: A \nj:0:1:B\n", want: []string{" A ", "B", "EOF"}},
		{says: "dropped, in a frame kept", wire: " A\n" + uuid + ":0:1: B\n", want: []string{"A", " B", "EOF"}},
		{says: "kept", wire: prefix(" A ") + prefix("B"), want: []string{" A ", "B", "EOF"}},
	}},
	{"cut at the end", [5]behaviour{
		{says: "a message", wire: "A\nB", want: []string{"A", "B", "EOF"}},
		{says: "ErrUnexpectedEOF", wire: header("A") + header("B")[:20], want: []string{"A", "unexpected EOF"}},
		{says: "ErrUnexpectedEOF", wire: "i:0:1:A\nj:0:1:B", want: []string{"A", "unexpected EOF"}},
		{says: "a line a message", wire: "A\n{B", want: []string{"A", "{B", "EOF"}},
		{says: "ErrUnexpectedEOF", wire: prefix("A") + prefix("B")[:4], want: []string{"A", "unexpected EOF"}},
	}},
	{"garbage before", [5]behaviour{
		{says: "a message", wire: "A\ngarbage\nB\n", want: []string{"A", "garbage", "B", "EOF"}},
		{says: "HeaderError, next read", wire: header("A") + "garbage\n" + header("B"), want: []string{"A", "no colon", "B", "EOF"}},
		{says: "ErrMalformed, next read", wire: "i:0:1:A\ngarbage\nj:0:1:B\n", want: []string{"A", "malformed", "B", "EOF"}},
		{says: "a message", wire: "A\ngarbage\n" + uuid + ":0:1:B\n", want: []string{"A", "garbage", "B", "EOF"}},
		{says: "a length", wire: prefix("A") + "garbage\n" + prefix("B"), want: []string{"A", "too large"}},
	}},
	{"beyond the limit", [5]behaviour{
		{says: "TooLargeError, the end", wire: "A\n" + nine + "\nB\n", want: []string{"A", "too large"}},
		{says: "TooLargeError, the end", wire: header("A") + header(nine) + header("B"), want: []string{"A", "too large"}},
		{says: "TooLargeError, the end", wire: "i:0:1:A\nk:0:1:" + nine + "\nj:0:1:B\n", want: []string{"A", "too large"}},
		{says: "TooLargeError, the end", wire: "A\n" + nine + "\nB\n", want: []string{"A", "too large"}},
		{says: "TooLargeError, the end", wire: prefix("A") + prefix(nine) + prefix("B"), want: []string{"A", "too large"}},
	}},
	{"same, Resync", [5]behaviour{
		{says: "next read", wire: "A\n" + nine + "\nB\n", want: []string{"A", "too large", "B", "EOF"}, opts: resync},
		{says: "next read", wire: header("A") + header(nine) + header("B"), want: []string{"A", "too large", "B", "EOF"}, opts: resync},
		{says: "next read", wire: "i:0:1:A\nk:0:1:" + nine + "\nj:0:1:B\n", want: []string{"A", "too large", "B", "EOF"}, opts: resync},
		{says: "next read", wire: "A\n" + nine + "\nB\n", want: []string{"A", "too large", "B", "EOF"}, opts: resync},
		{says: "next read", wire: prefix("A") + prefix(nine) + prefix("B"), want: []string{"A", "too large", "B", "EOF"}, opts: resync},
	}},
	{"chunks interleaved", [5]behaviour{
		{says: "-"}, {says: "-"},
		{says: "reassembled", wire: "i:0:2:A\nj:0:2:B\ni:1:2:a\nj:1:2:b\n", want: []string{"Aa", "Bb", "EOF"}},
		{says: "reassembled", wire: uuid + ":0:2:A\nB\n" + uuid + ":1:2:a\n", want: []string{"B", "Aa", "EOF"}},
		{says: "-"},
	}},
	{"chunk twice", [5]behaviour{
		{says: "-"}, {says: "-"},
		{says: "ErrDuplicate, goes on", wire: "i:0:2:A\ni:0:2:A\ni:1:2:B\n", want: []string{"0 duplicate", "AB", "EOF"}},
		{says: "ErrDuplicate, goes on", wire: uuid + ":0:2:A\n" + uuid + ":0:2:A\n" + uuid + ":1:2:B\n", want: []string{"0 duplicate", "AB", "EOF"}},
		{says: "-"},
	}},
	{"chunk missing", [5]behaviour{
		{says: "-"}, {says: "-"},
		{says: "ErrMissing, ErrExpired", wire: "i:0:2:A\nj:0:1:B\n", want: []string{"B", "1 missing", "EOF"}},
		{says: "ErrMissing, ErrExpired", wire: uuid + ":0:2:A\nB\n", want: []string{"B", "1 missing", "EOF"}},
		{says: "-"},
	}},
	{"sending empty", [5]behaviour{
		{says: "ErrEmpty"}, {says: "sent"}, {says: "sent"}, {says: "sent as a frame"}, {says: "sent"},
	}},
	{"sending a newline", [5]behaviour{
		{says: "ErrNewline"}, {says: "sent"}, {says: "ErrNewline"}, {says: "ErrNewline"}, {says: "sent"},
	}},
}

// The table has each listed framing but raw, which tells no messages apart, and readers that take
// ndjson in other ways.
func TestBehavioursOfEachFraming(t *testing.T) {
	for _, f := range framers.All() {
		name, _, _ := strings.Cut(f.String(), ":")
		isSpecial := name == "raw" || strings.HasPrefix(name, "ndjson-")
		if !isSpecial && !slices.Contains(tabled[:], name) {
			t.Errorf("%s is not in the table of behaviours (table and tabled, and doc.go)", name)
		}
	}
}

const (
	uuid = "0123abcd-4567-89ab-cdef-0123456789ab"
	nine = "123456789" // one more than the limit of the table
)

var (
	tabled = [5]string{"ndjson", "content-length", "chunked", "adaptive", "length-prefix"}
	resync = []framers.Option{framers.WithPolicy(framers.Resync)}
)

func header(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }
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
	for _, row := range table {
		for i, cell := range row.cells {
			t.Run(row.oddity+"/"+tabled[i], func(t *testing.T) {
				f := mustParse(t, tabled[i])
				switch {
				case strings.HasPrefix(row.oddity, "sending"):
					checkSending(t, f, map[string]string{"sending empty": "", "sending a newline": "A\nB"}[row.oddity], cell.says)
				case cell.says != "-":
					for _, cut := range cuts {
						opts := append([]framers.Option{framers.WithMaxMessage(len(nine) - 1)}, cell.opts...)
						if got := happened(f.NewReader(cut.cut(strings.NewReader(cell.wire)), opts...)); !slices.Equal(got, cell.want) {
							t.Errorf("%s: got %q, want %q", cut.name, got, cell.want)
						}
					}
				}
			})
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
		if wire := string(encode(t, f, [][]byte{[]byte(msg)})); !strings.HasSuffix(wire, ":0:1:"+msg+"\n") {
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

// halves are the columns of the two tables into which the documentation cuts the one here.
var halves = [][]int{{0, 1, 4}, {2, 3}}

// tableLines lays the table out: an oddity a line, in two halves.
func tableLines() (lines []string) {
	for _, half := range halves {
		lines = append(lines, layOut(half)...)
	}
	return lines
}

// layOut lays some columns of the table out, without the oddities that none of them has.
func layOut(columns []int) (lines []string) {
	head := []string{""}
	for _, i := range columns {
		head = append(head, tabled[i])
	}
	rows := [][]string{head}
	for _, row := range table {
		cells := []string{row.oddity}
		met := false
		for _, i := range columns {
			cells = append(cells, row.cells[i].says)
			met = met || row.cells[i].says != "-"
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
