package tap

import (
	"bytes"
	"io"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// redact overwrites every value of a JSON text with others of the same kind and length: letters
// with x, digits with 0, outside names of members and what makes the structure. What follows stays
// as it is: the members jsonrpc, method and id of the outermost object, so that requests and
// answers can be told apart and matched; true, false and null; and escapes, byte for byte of the
// same length; the revisions of MCP that the two ends agree on; and the name of the tool that is
// called, without which a server only says that it has no such tool. From where a text is no JSON
// all of it is overwritten. It reports whether anything is another than before.
func redact(b []byte, method string) bool {
	before := bytes.Clone(b)
	overwrite(b, method)
	return !bytes.Equal(b, before)
}

func overwrite(b []byte, method string) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(b),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	outermost := ""
	member := ""
	for from := int64(0); ; from = dec.InputOffset() {
		token, err := dec.ReadToken()
		if err == io.EOF {
			return
		}
		if err != nil {
			blank(b[from:])
			return
		}
		value := b[from:dec.InputOffset()] // with what stands before it
		within, n := dec.StackIndex(dec.StackDepth())
		named := within == '{' && n%2 == 1
		if named {
			member = token.String()
		}
		if named && dec.StackDepth() == 1 {
			outermost = member
		}
		ofParams := outermost == "params" && dec.StackDepth() == 2 && within == '{'
		switch {
		case named, dec.StackDepth() == 1 && slices.Contains(keptMembers, outermost):
		case slices.Contains(revisionMembers, member) && revision.Match(value):
		case method == toolCall && ofParams && member == "name":
		case token.Kind() == '"':
			blank(value[bytes.IndexByte(value, '"')+1 : len(value)-1])
		case token.Kind() == '0':
			blankNumber(value)
		}
	}
}

// toolCall is the method by which MCP calls a tool.
const toolCall = "tools/call"

// keptMembers of the outermost object stay.
var keptMembers = []string{"jsonrpc", "method", "id"}

// revisionMembers hold revisions of MCP, which stay: a server refuses others when the recording is
// played to it.
var revisionMembers = []string{
	"protocolVersion", "io.modelcontextprotocol/protocolVersion", "supportedVersions",
}

// revision matches the text of a revision with what may stand before it in JSON.
var revision = regexp.MustCompile(`^[\s,:\[]*"20\d\d-\d\d-\d\d"$`)

// blankNumber overwrites digits. A number does not begin with 0 where it goes on.
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

// blank overwrites the inside of a string. An escape keeps its length and stays one.
func blank(b []byte) {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			b[i] = 'x'
			continue
		}
		i++
		if i < len(b) && b[i] == 'u' {
			for end := min(i+4, len(b)-1); i < end; {
				i++
				b[i] = '0'
			}
			continue
		}
		if i < len(b) {
			b[i] = 'n'
		}
	}
}
