package framers

import "io"

// The naive framings put the same bytes on the wire as ndjson, but receive them in two slow ways.
// Published descriptions of MCP's stdio transport have both ways. They are here to be measured.
var (
	bytewise = &form{
		name:    "ndjson-bytewise",
		carries: lineCarries,
		tail:    newline,
		reader: func(_ framing, r io.Reader, s settings) Reader {
			return newNaiveReader(r, s, 1) // byte per call
		},
	}
	rescan = &form{
		name:    "ndjson-rescan",
		carries: lineCarries,
		tail:    newline,
		reader: func(_ framing, r io.Reader, s settings) Reader {
			l := newNaiveReader(r, s, 4096) // bytes per call
			l.rescans = true
			return l
		},
	}
)

// newNaiveReader returns a reader of lines that reads atOnce bytes per call. Unlike other Readers,
// it holds a whole line before it checks the line's length, so its memory is not bounded.
func newNaiveReader(r io.Reader, s settings, atOnce int) *lineReader {
	s.readBuffer = atOnce
	l := newLineReader(r, s)
	l.late = true
	l.in.top = noLimit
	return l
}

// Bytewise returns the line framing whose Reader reads one byte per call, up to a newline.
func Bytewise() Framing { return framing{form: bytewise} }

// Rescan returns the line framing whose Reader reads 4096 bytes per call, and after each call
// searches the whole line again.
func Rescan() Framing { return framing{form: rescan} }
