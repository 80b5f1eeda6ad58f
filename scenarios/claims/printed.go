package claims

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/faults"
)

// Pieces is the evidence of 004-4096-robust.
type Pieces struct {
	Messages int   `json:"messages"`
	Pieces   []int `json:"pieces"` // bytes of each write
	Intact   int   `json:"intact"`

	Printed *Printed `json:"printed,omitempty"`
}

// A Printed says what the reader does that the document prints, exactly as it is printed.
type Printed struct {
	Intact   int  `json:"intact"`    // of the messages
	LastLine bool `json:"last_line"` // it delivers a last line without a newline
	BadText  bool `json:"bad_text"`  // it calls a line that is no UTF-8 too large
}

// printedLimit is the limit of the document's reader, in bytes of a line.
const printedLimit = 10 << 20

// readPrinted is the reader that the document prints. It gives each line to yield, or the first KiB
// of a line that it calls too large.
func readPrinted(r io.Reader, yield func(line []byte, tooLarge bool)) error {
	var buffer []byte
	chunk := make([]byte, 4096)
	for {
		n, err := r.Read(chunk)
		if n == 0 { // "EOF detected": what is in the buffer goes
			if err == io.EOF {
				return nil
			}
			return err
		}
		buffer = append(buffer, chunk[:n]...)
		for {
			line, rest, found := bytes.Cut(buffer, []byte("\n"))
			if !found {
				break
			}
			buffer = rest
			if len(line) > printedLimit || !utf8.Valid(line) {
				yield(line[:min(len(line), 1<<10)], true)
				continue
			}
			line = bytes.TrimSpace(line)
			if len(line) > 0 {
				yield(line, false)
			}
		}
	}
}

func gatherPieces(context.Context, *session) (Pieces, error) {
	e := Pieces{Printed: new(Printed)}
	if err := e.Printed.readOddities(); err != nil {
		return e, err
	}
	messages := messagesOf(4094, 4095, 4096, 4097, 8191, 8192, 100, 12_287, 50)
	for _, piece := range []int{1, 100, 4095, 4096, 4097, 10_000} {
		e.Pieces = append(e.Pieces, piece)
		e.Messages += len(messages)
		send := sendInPieces(messages, piece)
		intact, err := countIntact(send, messages)
		if err != nil {
			return e, err
		}
		e.Intact += intact
		intact, err = countPrinted(send, messages)
		if err != nil {
			return e, err
		}
		e.Printed.Intact += intact
	}
	return e, nil
}

// readOddities reads a line that is no UTF-8, and a last line without a newline.
func (e *Printed) readOddities() error {
	return faults.TransferBytes([]byte("\xff\n{}"), false, func(r io.Reader) error {
		return readPrinted(r, func(line []byte, tooLarge bool) {
			e.BadText = e.BadText || tooLarge
			e.LastLine = e.LastLine || string(line) == "{}"
		})
	})
}

// sendInPieces returns a function that sends messages as lines, piece bytes with each write.
func sendInPieces(messages [][]byte, piece int) func(io.Writer) error {
	wire := append(bytes.Join(messages, []byte("\n")), '\n')
	return func(w io.Writer) error {
		for p := range slices.Chunk(wire, piece) {
			if _, err := w.Write(p); err != nil {
				return err
			}
		}
		return nil
	}
}

// countIntact counts the messages that this project's version of the reader delivers as they were
// sent. That version takes a last line without a newline too.
func countIntact(send func(io.Writer) error, messages [][]byte) (int, error) {
	intact := 0
	err := faults.Transfer(send, func(r io.Reader) error {
		in := framers.Rescan().NewReader(r)
		for _, want := range messages {
			got, err := in.ReadMessage()
			if err != nil {
				return err
			}
			if bytes.Equal(got, want) {
				intact++
			}
		}
		return nil
	})
	return intact, err
}

// countPrinted counts the messages that the reader as printed delivers, in their order.
func countPrinted(send func(io.Writer) error, messages [][]byte) (int, error) {
	intact := 0
	err := faults.Transfer(send, func(r io.Reader) error {
		return readPrinted(r, func(line []byte, _ bool) {
			if intact < len(messages) && bytes.Equal(line, messages[intact]) {
				intact++
			}
		})
	})
	return intact, err
}

func judgePieces(e Pieces) finding {
	f := finding{figure: fmt.Sprintf("%d of %d", e.Intact, e.Messages)}
	if e.Intact != e.Messages {
		f.verdict = Refuted
		return f
	}
	// Evidence of earlier versions says nothing of the reader as printed.
	p := e.Printed
	if p == nil || p.LastLine && p.Intact >= e.Messages {
		f.verdict = Holds
		return f
	}
	f.figure += fmt.Sprintf(", as printed %d", p.Intact)
	if p.BadText {
		f.outcome = outcome{Depends, "bad text too"}
	} else {
		f.outcome = outcome{Depends, "last line"}
	}
	return f
}
