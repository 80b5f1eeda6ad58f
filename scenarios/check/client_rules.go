package check

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
)

// clientRules has the rules of MCP for clients. Each function looks at a run of the client with a
// good server, and returns how the client broke the rule, or "" if the client kept it.
var clientRules = map[string]func(*visit) string{
	"mcp-opening":  perSession(breaksOpening),
	"mcp-messages": perSession(breaksMessages),
	"mcp-shutdown": breaksShutdown,
}

func breaksShutdown(v *visit) string {
	forced := 0 // sessions in which the server was not ended by the end of its input
	for _, end := range v.sessionEnds {
		if end != mcpstdio.EndOfInput {
			forced++
		}
	}
	if !v.ended || forced == 0 {
		return ""
	}
	return fmt.Sprintf("ends the server by a signal in %s: its input is to be closed first",
		results.FormatCount(forced, "session"))
}

// perSession turns a rule about one session into a rule about a whole run of the client. Each start
// of the server is a session.
func perSession(broken func([]results.Message) string) func(*visit) string {
	return func(v *visit) string {
		for _, session := range v.sessions {
			if what := broken(session); what != "" {
				return what
			}
		}
		return ""
	}
}

// breaksOpening says what is wrong with the handshake, in which the client sends "initialize" and
// then "notifications/initialized". If the requests carry the version of MCP, no handshake is
// needed.
func breaksOpening(session []results.Message) string {
	first := session[0]
	m, err := jsonrpc.Parse([]byte(first.Body))
	var params struct {
		ProtocolVersion string
		Capabilities    json.RawMessage
		ClientInfo      struct{ Name, Version string }
		Meta            map[string]any `json:"_meta"`
	}
	if err == nil {
		err = json.Unmarshal(m.Params, &params)
	}
	switch {
	case params.Meta["io.modelcontextprotocol/protocolVersion"] != nil:
		return "" // each request carries the version
	case first.Method != "initialize":
		return fmt.Sprintf("begins with %q, where initialize, "+
			"or server/discover with its version, comes first", first.Method)
	case err != nil, params.ProtocolVersion == "", len(params.Capabilities) == 0,
		params.ClientInfo.Name == "":
		return "sends initialize without a protocolVersion, capabilities or clientInfo"
	}
	for _, m := range session[1:] {
		switch {
		case m.Dir == "reply" || m.Method == "ping":
		case m.Method == "notifications/initialized":
			return ""
		default:
			return fmt.Sprintf("sends %s before notifications/initialized", m.Method)
		}
	}
	return "does not send notifications/initialized"
}

// breaksMessages finds messages that are not JSON-RPC. It also finds request ids that come twice,
// or are neither strings nor integers.
func breaksMessages(session []results.Message) string {
	ids := map[string]bool{}
	for _, m := range session {
		if m.Dir != "request" || m.Body == "" {
			continue
		}
		parsed, err := jsonrpc.Parse([]byte(m.Body))
		if err != nil {
			return fmt.Sprintf("sends what is no message: %.60q", m.Body)
		}
		if parsed.Kind() != jsonrpc.Request {
			continue
		}
		id := string(parsed.ID)
		switch {
		case !isStringOrInteger(id):
			return fmt.Sprintf("sends %s with the id %s, which is to be a string or an integer",
				m.Method, id)
		case ids[id]:
			return fmt.Sprintf("uses the id %s twice in a session", id)
		}
		ids[id] = true
	}
	return ""
}

// isStringOrInteger reports whether an id is a string or an integer, such as 1 or 1.0. The id must
// be the JSON text of a string or a number.
func isStringOrInteger(id string) bool {
	if id[0] == '"' {
		return true
	}
	n, err := strconv.ParseFloat(id, 64)
	return err == nil && n == math.Trunc(n)
}
