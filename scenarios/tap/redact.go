package tap

import (
	"bytes"
	"io"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// redact overwrites the strings and numbers in a JSON text by others of the same length, and
// reports whether it changed anything. These stay:
//
//   - the outermost members jsonrpc, method and id
//   - MCP revisions
//   - the name of a tool that is called
//
// If the text stops being JSON, everything from there on is overwritten.
func redact(b []byte, method string) bool {
	before := bytes.Clone(b)
	overwrite(b, method)
	return !bytes.Equal(b, before)
}

func overwrite(b []byte, method string) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(b),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	outermost := "" // the member of the outermost object that the token is in
	member := ""    // the innermost member that the token is in
	for from := int64(0); ; from = dec.InputOffset() {
		token, err := dec.ReadToken()
		if err == io.EOF {
			return
		}
		if err != nil {
			blank(b[from:])
			return
		}
		value := b[from:dec.InputOffset()] // with the separators before it
		within, n := dec.StackIndex(dec.StackDepth())
		isName := within == '{' && n%2 == 1 // names and values alternate; n counts this token
		if isName {
			member = token.String()
		}
		if isName && dec.StackDepth() == 1 {
			outermost = member
		}
		inParams := outermost == "params" && dec.StackDepth() == 2 && within == '{'
		switch { // the cases without a body keep the token
		case isName, dec.StackDepth() == 1 && slices.Contains(keptMembers, outermost):
		case slices.Contains(revisionMembers, member) && revision.Match(value):
		case method == toolCall && inParams && member == "name":
		case token.Kind() == '"':
			blank(value[bytes.IndexByte(value, '"')+1 : len(value)-1])
		case token.Kind() == '0':
			blankNumber(value)
		}
	}
}

// toolCall is the method by which MCP calls a tool. Without the tool's name, a server can only
// refuse the call.
const toolCall = "tools/call"

// keptMembers are those members of the outermost object that redact does not change.
var keptMembers = []string{"jsonrpc", "method", "id"}

// revisionMembers are the members that hold MCP revisions. redact keeps the revisions, because a
// server refuses one that it does not know.
var revisionMembers = []string{
	"protocolVersion", "io.modelcontextprotocol/protocolVersion", "supportedVersions",
}

// revision matches a revision in quotes, and the separators that may stand before it in JSON.
var revision = regexp.MustCompile(`^[\s,:\[]*"20\d\d-\d\d-\d\d"$`)

// blankNumber overwrites each digit of a number by 0, or by 1 where JSON forbids a leading zero.
func blankNumber(b []byte) {
	for i, c := range b {
		if !digit(c) {
			continue
		}
		b[i] = '0'
		begins := i == 0 || !digit(b[i-1]) && b[i-1] != '.'
		goesOn := i+1 < len(b) && digit(b[i+1])
		if begins && goesOn {
			b[i] = '1'
		}
	}
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// blank overwrites the inside of a string. An escape becomes another escape of the same length.
func blank(b []byte) {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			b[i] = 'x'
			continue
		}
		i++
		switch {
		case i == len(b): // the string is cut off
		case b[i] == 'u':
			for end := min(i+4, len(b)-1); i < end; {
				i++
				b[i] = '0'
			}
		default:
			b[i] = 'n'
		}
	}
}
