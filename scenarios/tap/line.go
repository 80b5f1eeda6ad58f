package tap

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
)

// Directions of a message, as a recording names them.
const (
	fromClient = "request"
	fromServer = "reply"
)

// linePrefix returns the beginning of the lines of all messages of one direction, up to the time.
func linePrefix(run, dir string) []byte {
	head := appendString([]byte(`{"kind":"`+results.KindMessage+`","run":`), []byte(run))
	return append(head, `,"dir":"`+dir+`","t_ns":`...)
}

// appendMessage appends the line of a message: what encoding/json makes of a results.Message, at a
// fraction of its cost, since there may be a million in a second.
func appendMessage(dst, head []byte, m *message, body bool) []byte {
	dst = append(dst, head...)
	dst = strconv.AppendInt(dst, m.at, 10)
	dst = append(dst, `,"size":`...)
	dst = strconv.AppendInt(dst, m.size, 10)
	if len(m.method) > 0 {
		dst = appendText(append(dst, `,"method":`...), m.method)
	}
	if len(m.id) > 0 {
		dst = appendID(append(dst, `,"id":`...), m.id)
	}
	if m.failed {
		dst = append(dst, `,"error":true`...)
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

// unescaped tells which bytes stand for themselves in JSON text.
var unescaped = func() (t [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		t[c] = !strings.ContainsRune(`"\<>&`, rune(c))
	}
	return t
}()

// appendText appends a string whose inside is given as it stood in JSON text.
func appendText(dst, inside []byte) []byte {
	var decoded string
	if bytes.IndexByte(inside, '\\') >= 0 && json.Unmarshal(slices.Concat([]byte{'"'}, inside, []byte{'"'}), &decoded) == nil {
		inside = []byte(decoded)
	}
	return appendString(dst, inside)
}

// appendID appends an id, which is not empty, as it stood, or as text if it is no JSON.
func appendID(dst, id []byte) []byte {
	number := len(id) == 1 || id[0] != '0' // most are: without sign or fraction
	for _, c := range id {
		number = number && c >= '0' && c <= '9'
	}
	if number || json.Valid(id) && utf8.Valid(id) {
		return append(dst, id...)
	}
	return appendString(dst, id)
}

// appendString appends a text as encoding/json writes it, which takes several times as long and
// copies it twice: a recording with bodies is made of this.
func appendString(dst, text []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for from, i := 0, 0; ; {
		for i < len(text) && unescaped[text[i]] {
			i++
		}
		dst = append(dst, text[from:i]...)
		if i == len(text) {
			return append(dst, '"')
		}
		size := 1
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c < utf8.RuneSelf:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			dst = utf8.AppendRune(dst, r) // U+FFFD for what is none
		}
		i += size
		from = i
	}
}

// protocolOf returns the protocol that a method is of, or jsonrpc; "" for none.
func protocolOf(method []byte) string {
	prefix, _, _ := bytes.Cut(method, []byte("/"))
	switch string(prefix) {
	case "":
		return ""
	case "notifications", "tools", "resources", "prompts", "server":
		return "mcp"
	case "initialized", "textDocument", "workspace", "$":
		return "lsp"
	}
	return "jsonrpc"
}
