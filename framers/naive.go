package framers

import "io"

// The naive framings receive ndjson in two slow ways, found in published descriptions of MCP. They
// are here to be measured.
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

// newNaiveReader returns a reader of lines that reads atOnce bytes per call. The memory of the
// reader is not bounded, since it checks the length of a line only when all of the line has come.
func newNaiveReader(r io.Reader, s settings, atOnce int) *lineReader {
	s.readBuffer = atOnce
	l := newLineReader(r, s)
	l.late = true
	l.in.top = noLimit
	return l
}

// Bytewise returns the line framing whose Reader reads one byte per call, up to a newline. The
// memory of such a Reader is not bounded.
func Bytewise() Framing { return framing{form: bytewise} }

// Rescan returns the line framing whose Reader reads 4096 bytes per call, and then searches the
// whole line again. The memory of such a Reader is not bounded.
func Rescan() Framing { return framing{form: rescan} }
