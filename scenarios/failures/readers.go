package failures

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/pipebench/pipebench/results"
)

// A nextMessage returns the next message of a stream. At the end of the stream it returns io.EOF.
type nextMessage func() ([]byte, error)

// A reading is a stream of bytes, and a reader that splits it into messages.
type reading struct {
	part      string                      // the part of the failure that is shown
	sent      [][]byte                    // the messages in the stream
	wire      []byte                      // the bytes of the stream
	open      func(io.Reader) nextMessage // begins to read the stream
	parse     bool                        // skip messages that are not JSON
	staysOpen bool                        // the stream stays open after its last byte
	readsOn   bool                        // the reader goes on after an error
}

// An outcome is what came out when a reader split a stream into messages.
type outcome struct {
	sent    int // messages that were sent
	intact  int // messages delivered as they were sent
	altered int // messages delivered that were never sent
	skipped int // messages delivered that are not JSON
	waits   bool
	err     error // the first error
}

// read lets each reader read its stream, and records what happened. Some readers show the same part
// of a failure. Of these, only the first that fails is recorded, or the last if none fails.
func (r *recorder) read(ctx context.Context, readings func() ([]reading, error)) error {
	all, err := readings()
	if err != nil {
		return err
	}
	shown := map[string]bool{}
	for i, c := range all {
		if shown[c.part] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		r.observe(c.part)
		o := c.read()
		isLast := i+1 == len(all) || all[i+1].part != c.part
		if o.class() == Sound && !isLast {
			continue
		}
		shown[c.part] = true
		if err := r.record(c.part, o.finding()); err != nil {
			return err
		}
	}
	return nil
}

// errStarved is the error for a reader that wants more bytes than were sent, and would wait for
// ever.
var errStarved = errors.New("waits for bytes that nobody sends")

// errEndless is the error for a reader that reads again and again at the end of its input.
var errEndless = errors.New("reads on at the end of its input")

// starved stands for the rest of a stream that stays open after its last byte.
type starved struct{}

func (starved) Read([]byte) (int, error) { return 0, errStarved }

// read splits the stream into messages, and compares them with the sent messages.
func (c reading) read() outcome {
	o := outcome{sent: len(c.sent)}
	var in io.Reader = bytes.NewReader(c.wire)
	if c.staysOpen {
		in = io.MultiReader(in, starved{})
	}
	next := c.open(in)
	var last error
	for {
		msg, err := next()
		switch {
		case err == io.EOF:
			return o
		case errors.Is(err, errStarved):
			o.waits = o.intact < o.sent
			return o
		case err != nil && (!c.readsOn || err == last): // the same error again: no more will come
			o.waits = err == errEndless
			o.err = cmp.Or(o.err, err)
			return o
		case err != nil:
			o.err = cmp.Or(o.err, err)
			last = err
			continue
		}
		o.count(c, msg)
	}
}

// count counts a delivered message as intact, altered or skipped.
func (o *outcome) count(c reading, msg []byte) {
	if c.parse {
		var compact bytes.Buffer
		if json.Compact(&compact, msg) != nil {
			o.skipped++
			return
		}
		msg = compact.Bytes()
	}
	for _, want := range c.sent {
		if bytes.Equal(msg, want) {
			o.intact++
			return
		}
	}
	o.altered++
}

// class says how the reader failed. If the reader delivers a mixture of messages as one message,
// the class is Corrupted, even if a parser would notice the mixture later.
func (o outcome) class() string {
	isNoticed := o.err != nil || o.skipped > 0
	switch {
	case o.altered > 0:
		return Corrupted
	case o.waits:
		return Stuck
	case o.intact == o.sent:
		return Sound
	case isNoticed && o.intact == 0:
		return Refused
	case isNoticed:
		return Noticed
	}
	return SilentLoss
}

// finding returns a finding that says in a sentence what happened.
func (o outcome) finding() results.Finding {
	found := fmt.Sprintf("%d of %s intact", o.intact, results.FormatCount(o.sent, "message"))
	if o.altered > 0 {
		found += fmt.Sprintf(", %d altered", o.altered)
	}
	if o.skipped > 0 {
		found += ", passed over " + results.FormatCount(o.skipped, "line")
	}
	switch {
	case o.err != nil:
		found += "; error: " + o.err.Error()
	case o.waits:
		found += "; then it waits for more"
	}
	return results.Finding{Class: o.class(), Value: o.intact, Found: found}
}

// openScanner reads lines, and gives up at the first line that is not JSON.
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
			return nil, fmt.Errorf("no message: %.40q", in.Text())
		}
		return in.Bytes(), nil
	}
}

// openDecoder reads JSON values, and ignores where lines end.
func openDecoder(r io.Reader) nextMessage {
	in := json.NewDecoder(r)
	return func() ([]byte, error) {
		var msg json.RawMessage
		err := in.Decode(&msg)
		return msg, err
	}
}

// mostEmptyReads is how many reads in a row may return no bytes. A reader that goes on after so
// many empty reads would never end.
const mostEmptyReads = 100

// openReadLine reads byte by byte until a newline, like the function read_line in one of the
// documents that package claims judges. It does not stop at the end of the input.
func openReadLine(r io.Reader) nextMessage {
	return func() ([]byte, error) {
		var line []byte
		char := make([]byte, 1)
		empty := 0
		for empty < mostEmptyReads {
			n, err := r.Read(char)
			switch {
			case err != nil && err != io.EOF:
				return nil, err
			case n == 0:
				empty++
				continue
			case char[0] == '\n':
				return line, nil
			}
			line = append(line, char[0])
		}
		return nil, errEndless
	}
}

// openPrinted reads like code that is printed in documents: after each read of up to 4096 bytes it
// searches its buffer for a newline. At the end it drops what has no newline.
func openPrinted(r io.Reader) nextMessage {
	var buffer []byte
	chunk := make([]byte, 4096)
	return func() ([]byte, error) {
		for {
			line, rest, whole := bytes.Cut(buffer, []byte("\n"))
			if whole {
				buffer = rest
				return line, nil
			}
			n, err := r.Read(chunk)
			if n == 0 {
				return nil, err
			}
			buffer = append(buffer, chunk[:n]...)
		}
	}
}

// inPieces returns a function like open. The readers that the new function opens get at most n
// bytes per read.
func inPieces(n int, open func(io.Reader) nextMessage) func(io.Reader) nextMessage {
	return func(r io.Reader) nextMessage { return open(&pieces{r, n}) }
}

type pieces struct {
	r    io.Reader
	most int // bytes per read
}

func (p *pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.most)]) }
