package tap

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
)

// Directions of a message, as a recording names them.
const (
	fromClient = "request"
	fromServer = "reply"
)

// appendMessage appends the line of a message: what encoding/json makes of a results.Message, at a fraction of its cost, since there may be
// half a million in a second.
func appendMessage(dst []byte, run, dir string, m *message, body bool) []byte {
	e := m.scanner.Envelope()
	dst = append(dst, `{"kind":"`+results.KindMessage+`","run":"`...)
	dst = append(dst, run...)
	dst = append(dst, `","dir":"`...)
	dst = append(dst, dir...)
	dst = append(dst, `","t_ns":`...)
	dst = strconv.AppendInt(dst, m.at, 10)
	dst = append(dst, `,"size":`...)
	dst = strconv.AppendInt(dst, m.size, 10)
	if e.Whole && len(e.Method) > 0 {
		dst = appendText(append(dst, `,"method":`...), e.Method)
	}
	if e.Whole && len(e.ID) > 0 {
		dst = appendID(append(dst, `,"id":`...), e.ID)
	}
	if len(m.cuts) > 1 {
		dst = appendNumbers(append(dst, `,"cuts":`...), m.cuts, 0)
		dst = appendNumbers(append(dst, `,"cut_ns":`...), m.when, m.first)
	}
	if m.stalled > 0 {
		dst = strconv.AppendInt(append(dst, `,"stall_ns":`...), m.stalled, 10)
	}
	if body {
		dst = appendString(append(dst, `,"body":`...), m.body)
	}
	return append(dst, "}\n"...)
}

func appendNumbers(dst []byte, list []int64, less int64) []byte {
	dst = append(dst, '[')
	for i, n := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, n-less, 10)
	}
	return append(dst, ']')
}

// plain reports whether every byte stands for itself in JSON text.
func plain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// appendText appends a string whose inside is given as it stood in JSON text.
func appendText(dst, inside []byte) []byte {
	if plain(inside) {
		return append(append(append(dst, '"'), inside...), '"')
	}
	var decoded string
	if json.Unmarshal(append(append([]byte{'"'}, inside...), '"'), &decoded) != nil {
		decoded = string(inside)
	}
	return appendString(dst, []byte(decoded))
}

// appendID appends an id as it stood, or as text if it is no JSON.
func appendID(dst, id []byte) []byte {
	if json.Valid(id) && utf8.Valid(id) {
		return append(dst, id...)
	}
	return appendString(dst, id)
}

func appendString(dst, text []byte) []byte {
	if plain(text) {
		return append(append(append(dst, '"'), text...), '"')
	}
	encoded, err := json.Marshal(string(text))
	if err != nil {
		return append(dst, `""`...) // cannot be: every string has a JSON text
	}
	return append(dst, encoded...)
}
