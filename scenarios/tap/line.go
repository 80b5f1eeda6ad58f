package tap

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// Directions of a message, as a recording names them.
const (
	fromClient = "request"
	fromServer = "reply"
)

// linePrefix returns the beginning of a message's line in the recording. It is the same for all
// messages of one direction.
func linePrefix(run, dir string) []byte {
	head := jsonrpc.AppendString([]byte(`{"kind":"`+results.KindMessage+`","run":`), []byte(run))
	return append(head, `,"dir":"`+dir+`","t_ns":`...)
}

// appendMessage appends the JSON line of a message, which begins with head. encoding/json would
// take several times as long.
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
	if m.stalled > 0 {
		dst = strconv.AppendInt(append(dst, `,"stall_ns":`...), m.stalled, 10)
	}
	if m.untaken {
		dst = append(dst, `,"untaken":true`...)
	}
	if m.redacted {
		dst = append(dst, `,"redacted":true`...)
	}
	if body {
		dst = jsonrpc.AppendString(append(dst, `,"body":`...), m.body)
		if !utf8.Valid(m.body) { // the string has U+FFFD in place of what is no UTF-8
			dst = append(dst, `,"body_base64":"`...)
			dst = append(base64.StdEncoding.AppendEncode(dst, m.body), '"')
		}
	}
	return append(dst, "}\n"...)
}

// appendText appends a text as a JSON string. quoted is the inside of a JSON string: it may have
// escapes.
func appendText(dst, quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		var decoded string
		err := json.Unmarshal(slices.Concat([]byte{'"'}, quoted, []byte{'"'}), &decoded)
		if err == nil {
			quoted = []byte(decoded)
		}
	}
	return jsonrpc.AppendString(dst, quoted)
}

// appendID appends an id, as a string if it is not JSON. The id must not be empty.
func appendID(dst, id []byte) []byte {
	isNumber := len(id) == 1 || id[0] != '0' // an integer without a sign, as most ids are
	for _, c := range id {
		isNumber = isNumber && c >= '0' && c <= '9'
	}
	if isNumber || json.Valid(id) && utf8.Valid(id) {
		return append(dst, id...)
	}
	return jsonrpc.AppendString(dst, id)
}

// protocolOf returns the protocol that a method belongs to. "" means that there is no method, and
// "jsonrpc" that the method may belong to several protocols.
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
