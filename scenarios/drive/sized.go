package drive

import (
	"fmt"
	"slices"
)

// A sizedTool answers with as many bytes as it is asked for: a small request with a large answer, which finds a limit on answers apart from
// one on requests.
type sizedTool struct {
	name, arg string
	others    string // arguments besides, each followed by a comma
}

// sizedArguments are what such an argument is called.
var sizedArguments = []string{"bytes", "size", "length", "numBytes", "byteCount"}

// chooseSized finds the tool that replies of a size are asked of: the one that was named, or one that is known to make nothing but bytes.
func (m *mcp) chooseSized(tools []tool) (*sizedTool, error) {
	if m.replies.name == "" {
		return findSized(tools), nil
	}
	i := slices.IndexFunc(tools, func(t tool) bool { return t.Name == m.replies.name })
	if i < 0 {
		return nil, fmt.Errorf("the server has no tool %q; it has %s", m.replies.name, toolNames(tools))
	}
	chosen := m.replies
	if chosen.arg == "" {
		chosen.arg = tools[i].argument("integer", "number")
	}
	if chosen.arg == "" {
		return nil, fmt.Errorf("tool %s takes no number: name the argument that says how much it is to answer", chosen.name)
	}
	return &chosen, nil
}

// findSized looks for a tool that needs nothing but a number of bytes. Its name has to say that it only makes data.
func findSized(tools []tool) *sizedTool {
	for _, t := range tools {
		if !slices.Contains(sizedNames, t.Name) {
			continue
		}
		arg := t.argument("integer", "number")
		if slices.Contains(sizedArguments, arg) && (len(t.InputSchema.Required) == 0 || slices.Equal(t.InputSchema.Required, []string{arg})) {
			return &sizedTool{name: t.Name, arg: arg}
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
	msg := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{%s"name":%s,"arguments":{%s%s:%d}}}`,
		idMark, m.meta(), quoted(m.sized.name), m.sized.others, quoted(m.sized.arg), n)
	s, err := newShape(msg, "", len(msg), 0)
	if err != nil {
		return nil // cannot be: the size is its own
	}
	s.demands = n
	return s
}
