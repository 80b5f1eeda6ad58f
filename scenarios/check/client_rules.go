package check

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// clientRules are the rules of MCP over stdio that a client keeps or breaks in the visit to a good
// server, by their names in the catalogue: each says what is broken, "" for nothing.
var clientRules = map[string]func(*visit) string{
	"mcp-opening":  breaksOpening,
	"mcp-messages": breaksMessages,
	"mcp-shutdown": func(v *visit) string {
		if n := v.byForce(); v.Ended && n > 0 {
			return fmt.Sprintf("ends the server by a signal in %s: its input is to be closed first", results.FormatCount(n, "session"))
		}
		return ""
	},
}

// perSession calls broken for the requests and notifications of each session until one breaks a
// rule.
func (v *visit) perSession(broken func([]results.Message) string) string {
	runs := map[string][]results.Message{}
	for _, m := range v.messages {
		runs[m.Run] = append(runs[m.Run], m)
	}
	for _, session := range runs {
		if what := broken(session); what != "" {
			return what
		}
	}
	return ""
}

// breaksOpening looks for a handshake in its order: initialize, its answer, the notification, all
// else. What opens with server/discover, or speaks a revision without handshake, has another one.
func breaksOpening(v *visit) string {
	return v.perSession(func(session []results.Message) string {
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
			return fmt.Sprintf("begins with %q, where initialize, or server/discover with its version, comes first", first.Method)
		case err != nil, params.ProtocolVersion == "", len(params.Capabilities) == 0, params.ClientInfo.Name == "":
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
	})
}

// breaksMessages looks at each message by itself, and for ids that are used twice.
func breaksMessages(v *visit) string {
	return v.perSession(func(session []results.Message) string {
		ids := map[string]bool{}
		for _, m := range session {
			if m.Dir != "request" || m.Body == "" {
				continue
			}
			parsed, err := jsonrpc.Parse([]byte(m.Body))
			id := string(parsed.ID)
			switch {
			case err != nil:
				return fmt.Sprintf("sends what is no message: %.60q", m.Body)
			case parsed.Kind() != jsonrpc.Request:
			case !slices.Contains([]byte(`"-0123456789`), id[0]):
				return fmt.Sprintf("sends %s with the id %s, which is to be a string or an integer", m.Method, id)
			case ids[id]:
				return fmt.Sprintf("uses the id %s twice in a session", id)
			}
			ids[id] = true
		}
		return ""
	})
}
