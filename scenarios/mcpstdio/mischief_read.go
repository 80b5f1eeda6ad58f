package mcpstdio

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/pipebench/pipebench/framers"
)

// A chunkDecoder decodes its input in pieces that end at every multiple of a size, however the bytes arrive: a character that lies
// across such an end is lost, as it is for a program that turns each chunk it reads into text by itself.
type chunkDecoder struct {
	r     io.Reader
	piece int
	at    int    // in the piece
	tail  []byte // the beginning of a character that the piece may still complete
	ready []byte
	err   error
}

func (s *chunkDecoder) Read(p []byte) (int, error) {
	for len(s.ready) == 0 && s.err == nil {
		s.decode()
	}
	n := copy(p, s.ready)
	s.ready = s.ready[n:]
	if n == 0 {
		return 0, s.err
	}
	return n, nil
}

// decode reads once, to the end of the piece at most.
func (s *chunkDecoder) decode() {
	raw := make([]byte, min(s.piece-s.at, 64<<10))
	n, err := s.r.Read(raw)
	s.err = err
	s.at += n
	text := append(s.tail, raw[:n]...)
	whole := len(text)
	if s.at < s.piece && err == nil {
		whole = lastBoundary(text)
	} else {
		s.at = 0
	}
	s.tail = append([]byte(nil), text[whole:]...)
	s.ready = bytes.ToValidUTF8(text[:whole], []byte("\uFFFD"))
}

// lastBoundary returns where the character that text ends inside begins, or its length if it ends with a whole one.
func lastBoundary(text []byte) int {
	for i := 1; i <= min(utf8.UTFMax-1, len(text)); i++ {
		if at := len(text) - i; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return at
			}
			break
		}
	}
	return len(text)
}

// quadratic reads lines as a program does that joins all it has with each chunk that comes and searches the whole for a
// newline: the time for a byte grows with the message.
type quadratic struct{ framers.Framing }

const quadraticChunk = 4096

func (q quadratic) NewReader(r io.Reader, _ ...framers.Option) framers.Reader {
	return &quadraticReader{r: r, chunk: make([]byte, quadraticChunk)}
}

type quadraticReader struct {
	r     io.Reader
	chunk []byte
	held  []byte
	err   error
}

func (j *quadraticReader) ReadMessage() ([]byte, error) {
	for {
		if i := bytes.IndexByte(j.held, '\n'); i >= 0 {
			line := j.held[:i]
			j.held = j.held[i+1:]
			if line = bytes.TrimSpace(line); len(line) > 0 {
				return line, nil
			}
			continue
		}
		if j.err != nil {
			return nil, j.err
		}
		var n int
		n, j.err = j.r.Read(j.chunk)
		joined := make([]byte, len(j.held)+n)
		copy(joined, j.held)
		copy(joined[len(j.held):], j.chunk[:n])
		j.held = joined
	}
}
