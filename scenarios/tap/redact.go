package tap

import (
	"bytes"
	"io"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// redact overwrites the values in a JSON text with values of the same kind and length. In strings,
// each byte becomes x, and each escape becomes another escape. In numbers, each digit becomes 0 or
// 1. These things stay:
//
//   - the structure, the names of members, true, false and null
//   - the members jsonrpc, method and id of the outermost object, which say what a message is and
//     to which request it belongs
//   - the MCP revisions that the two ends agree on
//   - the name of the tool that is called, because without it a server only says that it has no
//     such tool
//
// If a text stops being JSON, redact overwrites everything from there on. It reports whether it
// changed anything.
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

// toolCall is the method by which MCP calls a tool.
const toolCall = "tools/call"

// keptMembers are those members of the outermost object that redact does not change.
var keptMembers = []string{"jsonrpc", "method", "id"}

// revisionMembers hold MCP revisions. redact does not change them, because a server refuses other
// revisions when the recording is played to it.
var revisionMembers = []string{
	"protocolVersion", "io.modelcontextprotocol/protocolVersion", "supportedVersions",
}

// revision matches a revision in quotes, and the separators that may stand before it in JSON.
var revision = regexp.MustCompile(`^[\s,:\[]*"20\d\d-\d\d-\d\d"$`)

// blankNumber overwrites the digits of a number. The first of several digits becomes 1, because a
// JSON number has no leading zeros. All other digits become 0.
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
