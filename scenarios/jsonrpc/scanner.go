package jsonrpc

import (
	"bytes"
	"unicode/utf8"
)

// maxKept bounds what is held of an id, a method or a member's name, in bytes. The names that
// matter have six at most.
const maxKept = 128

// An Envelope is what a Scanner knows of a message.
type Envelope struct {
	// Raw JSON, quotes and all; empty if there is none, or it is longer than 128 bytes.
	ID []byte
	// Without its quotes, escapes as they stand, what is no UTF-8 as U+FFFD; cut at 128 bytes.
	Method []byte
	Result bool // there is a member "result"
	Error  bool // there is a member "error"
	Whole  bool // the outermost value is an object, and it was closed
}

// Kind returns what the message is: None until it is whole.
func (e *Envelope) Kind() Kind {
	if !e.Whole {
		return None
	}
	return kindOf(len(e.Method) > 0, len(e.ID) > 0, e.Error, e.Result)
}

// Scan reads a whole message. The slices of the Envelope are the message's own, but for a method
// that is no UTF-8. What is not JSON is None or a guess, never a panic.
func Scan(msg []byte) Envelope {
	var s Scanner
	s.Write(msg)
	e := s.found
	id := &s.texts[textID]
	if id.set {
		e.ID = id.of(msg)
	}
	method := &s.texts[textMethod]
	if method.set {
		e.Method = validText(method.of(msg), method.n > maxKept)
	}
	return e
}

// A Scanner reads one message that arrives in pieces. The zero Scanner is ready. It allocates
// nothing, but for a method that is no UTF-8.
type Scanner struct {
	found   Envelope // but for its slices
	texts   [3]keptText
	depth   int
	inside  bool // a string
	escaped bool // the string's next byte is escaped
	naming  bool // at depth 1, a member's name comes next, or is under way
	broken  bool // the outermost value is no object

	piece   []byte
	seen    int // bytes of earlier pieces
	from    int // where in piece what is being kept begins
	keeping textName
}

// A keptText is something of the message that is kept while it is read.
type keptText struct {
	set   bool
	begin int // in the message
	n     int // bytes, those that were not kept among them
	buf   [maxKept]byte
}

type textName int8

const (
	textMember textName = iota
	textID
	textMethod
	noText textName = -1
)

// Reset makes the Scanner ready for the next message.
func (s *Scanner) Reset() { *s = Scanner{} }

// Envelope returns what is known by now. Its slices are valid until the next Write or Reset.
func (s *Scanner) Envelope() Envelope {
	e := s.found
	id := &s.texts[textID]
	if id.set {
		e.ID = id.bytes()
	}
	method := &s.texts[textMethod]
	if method.set {
		e.Method = validText(method.bytes(), method.n > maxKept)
	}
	return e
}

// validText returns text as a JSON decoder gives it: each byte that is no UTF-8 becomes U+FFFD. One
// that was cut loses the character that the cut went through.
func validText(text []byte, cut bool) []byte {
	if utf8.Valid(text) {
		return text
	}
	for i := 1; cut && i < min(utf8.UTFMax, len(text)); i++ {
		tail := text[len(text)-i:]
		if utf8.RuneStart(tail[0]) && !utf8.FullRune(tail) {
			text = text[:len(text)-i]
			break
		}
	}
	return []byte(string([]rune(string(text))))
}

// Write takes the next piece of the message. It does not keep p.
func (s *Scanner) Write(p []byte) {
	if s.seen == 0 {
		s.keeping = noText
	}
	s.piece = p
	s.from = 0
	quote := -1 // the next quotation mark at or after the position, once looked for
	for i := 0; i < len(p) && !s.broken; {
		if s.inside {
			i, quote = s.string(i, quote)
			continue
		}
		s.structure(i, p[i])
		i++
	}
	s.keep(len(p))
	s.seen += len(p)
	s.piece = nil
}

// string goes on inside a string, from byte i, and returns where to go on. Strings are most of a
// large message, so they are searched, not walked through; quote remembers how far, so that no byte
// is searched twice however many escapes there are.
func (s *Scanner) string(i, quote int) (next, nextQuote int) {
	p := s.piece
	if s.escaped {
		s.escaped = false
		return i + 1, quote
	}
	if quote < i {
		quote = len(p)
		at := bytes.IndexByte(p[i:], '"')
		if at >= 0 {
			quote = i + at
		}
	}
	at := bytes.IndexByte(p[i:quote], '\\')
	if at >= 0 {
		s.escaped = true
		return i + at + 1, quote
	}
	if quote < len(p) {
		s.inside = false
		if s.keeping == textMember || s.keeping == textMethod {
			s.finish(quote)
		}
	}
	return quote + 1, quote
}

// structure goes on outside strings.
func (s *Scanner) structure(i int, c byte) {
	switch c {
	case '"':
		s.inside = true
		switch {
		case s.depth == 0:
			s.broken = true
		case s.depth > 1:
		case s.naming:
			s.begin(textMember, i+1)
		case string(s.texts[textMember].bytes()) == "method":
			s.begin(textMethod, i+1)
		}
	case '{', '[':
		s.depth++
		switch s.depth {
		case 1:
			s.broken = c != '{' || s.found.Whole
			s.naming = true
		case 2:
			s.keeping = noText // an id that is an object or a list is none
		}
	case '}', ']':
		s.endValue(i)
		s.depth--
		s.found.Whole = s.depth == 0
		s.broken = s.depth < 0
	case ',':
		s.endValue(i)
		s.naming = s.depth == 1
	case ':':
		s.beginValue(i)
	case ' ', '\t', '\r', '\n':
	default:
		s.broken = s.depth == 0 // a bare word
	}
}

func (s *Scanner) beginValue(i int) {
	if s.depth != 1 {
		return
	}
	s.naming = false
	switch string(s.texts[textMember].bytes()) {
	case "id":
		s.begin(textID, i+1)
	case "result":
		s.found.Result = true
	case "error":
		s.found.Error = true
	}
}

// endValue ends the value of a member of the outermost object. An id may be a number, which has no
// end of its own, and is kept with the white space around it. One that was not kept whole is none.
func (s *Scanner) endValue(i int) {
	if s.depth != 1 {
		return
	}
	s.texts[textMember].n = 0
	if s.keeping != textID {
		return
	}
	s.finish(i)
	id := &s.texts[textID]
	if id.n <= maxKept {
		b := id.bytes()
		id.begin += len(b) - len(bytes.TrimLeft(b, " \t\r\n"))
		id.n = copy(id.buf[:], bytes.TrimSpace(b))
	}
	id.set = id.n > 0 && id.n <= maxKept && string(id.bytes()) != "null"
}

// begin keeps what follows byte i of the piece.
func (s *Scanner) begin(name textName, i int) {
	s.keeping = name
	s.from = i
	t := &s.texts[name]
	t.set = false
	t.begin = s.seen + i
	t.n = 0
}

// finish ends what is being kept at byte i of the piece.
func (s *Scanner) finish(i int) {
	s.keep(i)
	s.texts[s.keeping].set = true
	s.keeping = noText
}

// keep puts the piece's bytes up to i with what is being kept, if anything is.
func (s *Scanner) keep(i int) {
	if s.keeping == noText || s.from >= i {
		return
	}
	t := &s.texts[s.keeping]
	if t.n < maxKept {
		copy(t.buf[t.n:], s.piece[s.from:i])
	}
	t.n += i - s.from
	s.from = i
}

func (t *keptText) bytes() []byte { return t.buf[:min(t.n, maxKept)] }

// of returns the text as it stands in the message.
func (t *keptText) of(msg []byte) []byte { return msg[t.begin : t.begin+min(t.n, maxKept)] }
