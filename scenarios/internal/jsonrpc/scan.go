package jsonrpc

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxKept is the largest number of bytes of an id or a method that Scan keeps.
const maxKept = 128

// An Envelope is what Scan finds in a message. Its slices may point into the message.
type Envelope struct {
	// ID is JSON text, so a string has its quotes. An id that is null, nested or longer than 128
	// bytes is left out.
	ID []byte
	// Method is the text between the quotes, cut at 128 bytes. Its escapes are left as they are.
	Method []byte
	Result bool // there is a member "result"
	Error  bool // there is a member "error"
	// End is where the outermost object ends. It is 0 if the closing brace did not come.
	End int
}

// Kind returns the kind of the message. It is None if End is 0.
func (e *Envelope) Kind() Kind {
	if e.End == 0 {
		return None
	}
	return kindOf(len(e.Method) > 0, len(e.ID) > 0, e.Error, e.Result)
}

// Scan reads a message, or the beginning of one. If msg is not JSON, the kind of the result is None
// or a guess.
func Scan(msg []byte) Envelope {
	var e Envelope
	text := bytes.TrimLeft(msg, " \t\r\n")
	if len(text) == 0 || text[0] != '{' {
		return e
	}
	i := 1
	depth := 1        // of nested objects and arrays; Scan looks at the members at depth 1
	naming := true    // whether, at depth 1, the name of a member comes next
	var member []byte // the name of the member whose value comes next
	value := 0        // where that value begins
	for ; i < len(text) && depth > 0; i++ {
		switch text[i] {
		case '"':
			end := stringEnd(text, i)
			if depth == 1 && end < len(text) {
				if naming {
					member = text[i+1 : end]
				} else {
					e.setText(member, text[i:end+1])
				}
			}
			i = end
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 1 && !naming {
				e.setID(member, text[value:i])
			}
			depth--
		case ':':
			if depth == 1 {
				naming = false
				value = i + 1
				e.mark(member)
			}
		case ',':
			if depth == 1 {
				if !naming {
					e.setID(member, text[value:i])
				}
				naming = true
				member = nil
			}
		}
	}
	if depth == 0 {
		e.End = len(msg) - len(text) + i
	}
	return e
}

// stringEnd returns the index of the closing quotation mark of the string that begins at i, or
// len(text) if there is none.
func stringEnd(text []byte, i int) int {
	for begin := i + 1; ; {
		quote := bytes.IndexByte(text[begin:], '"')
		if quote < 0 {
			return len(text)
		}
		end := begin + quote
		escapes := end
		for escapes > begin && text[escapes-1] == '\\' {
			escapes--
		}
		if (end-escapes)%2 == 0 {
			return end
		}
		begin = end + 1
	}
}

// mark notes that the message has this member, if the member is "result" or "error".
func (e *Envelope) mark(member []byte) {
	e.Result = e.Result || string(member) == "result"
	e.Error = e.Error || string(member) == "error"
}

// setText keeps a value, with its quotes, if the member is "method" or "id".
func (e *Envelope) setText(member, value []byte) {
	if string(member) == "method" {
		e.Method = validText(value[1 : len(value)-1])
		return
	}
	e.setID(member, value)
}

// setID keeps the value if the member is "id".
func (e *Envelope) setID(member, value []byte) {
	if string(member) != "id" {
		return
	}
	e.ID = nil
	id := bytes.TrimSpace(value)
	short := len(id) > 0 && len(id) <= maxKept
	if short && id[0] != '{' && id[0] != '[' && string(id) != "null" {
		e.ID = id
	}
}

// validText cuts a text after maxKept bytes, between characters, and replaces invalid UTF-8 by
// U+FFFD.
func validText(text []byte) []byte {
	if len(text) > maxKept {
		end := maxKept
		for end > maxKept-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	if utf8.Valid(text) {
		return text
	}
	return []byte(string([]rune(string(text))))
}

// FindID finds the id of a message in head, the beginning of the message. The second result is
// false if the id is invalid or incomplete.
func FindID(head []byte) (ID, bool) {
	id := jsontext.Value(Scan(head).ID)
	if !answerable(id.Kind()) || !id.IsValid() {
		return "", false
	}
	return ID(id), true
}
