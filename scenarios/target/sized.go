package target

import (
	"fmt"
	"slices"
	"strconv"
)

// A sizedTool answers with as many bytes as it is asked for: a small request with a large answer, which finds a limit on answers apart from
// one on requests.
type sizedTool struct{ name, arg string }

// sizedArguments are what such an argument is called.
var sizedArguments = []string{"bytes", "size", "length", "numBytes", "byteCount"}

// findSized looks for a tool that needs nothing but a number of bytes. Its name has to say that it only makes data.
func findSized(tools []tool) *sizedTool {
	for _, t := range tools {
		if !slices.Contains(sizedNames, t.Name) {
			continue
		}
		arg := t.argument("integer", "number")
		if slices.Contains(sizedArguments, arg) && (len(t.InputSchema.Required) == 0 || slices.Equal(t.InputSchema.Required, []string{arg})) {
			return &sizedTool{t.Name, arg}
		}
	}
	return nil
}

var sizedNames = []string{"get_large_data", "large_data", "generate_data", "get_bytes"}

// demand is a request for an answer of about n bytes.
func (m *mcp) demand(n int) *shape {
	if m.sized == nil {
		return nil
	}
	msg := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{%s"name":%s,"arguments":{%s:%d}}}`,
		idMark, m.meta(), strconv.Quote(m.sized.name), strconv.Quote(m.sized.arg), n)
	s, err := newShape(msg, "", len(msg), 0)
	if err != nil {
		return nil // cannot be: the size is its own
	}
	return s
}
