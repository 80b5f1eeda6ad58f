package check

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
)

//go:embed schemas/*.json
var schemaFiles embed.FS

// An mcpSchema describes the messages of a server in one revision of MCP.
type mcpSchema struct {
	Error   *jsonschema.Schema
	Results map[string]*jsonschema.Schema // by the method that was asked for
	Sent    map[string]*jsonschema.Schema // requests and notifications, by their method
	Defs    map[string]*jsonschema.Schema `json:"$defs"`
}

func readSchema(revision string) (*mcpSchema, error) {
	text, err := schemaFiles.ReadFile("schemas/" + revision + ".json")
	if err != nil {
		return nil, err
	}
	s := new(mcpSchema)
	return s, json.Unmarshal(text, s)
}

// fitSchemas makes requests that have no effect, in each revision that has a schema here, and
// checks every message that the server sends against the schema.
func fitSchemas(ctx context.Context, f *finding, p *target.Protocol, o target.Options) error {
	var fit []string
	for _, revision := range []string{mcpstdio.LastWithHandshake, mcpstdio.FirstWithout} {
		s, err := startSession(ctx, f, p, o)
		if err != nil {
			return err
		}
		err = s.askAll(revision, p)
		s.conn.Close()
		f.evidence = s.evidence()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		schema, unreadable := readSchema(revision)
		if unreadable != nil {
			return unreadable
		}
		if _, speaksAnother := errors.AsType[departure](err); speaksAnother {
			continue
		}
		for _, m := range s.heard {
			why, err := s.misfit(schema, m)
			if err != nil {
				return err
			}
			if why != "" {
				f.fails("%s does not fit the schema of %s: %s", s.nameOf(m), revision, why)
				return nil
			}
		}
		if err != nil {
			f.fails("%v", err)
			return nil
		}
		messages := results.FormatCount(len(s.heard), "message")
		fit = append(fit, messages+" of "+revision)
	}
	if len(fit) == 0 {
		f.cannotTell("it speaks no revision that it was asked for")
		return nil
	}
	f.ok("%s fit the schema", strings.Join(fit, " and "))
	return nil
}

// askAll asks for the lists that the server has, and calls echo. It returns a departure if the
// server does not speak the revision.
func (s *mcpSession) askAll(revision string, p *target.Protocol) error {
	capabilities, params, err := s.openAny(revision)
	if err != nil {
		return err
	}
	for _, list := range []string{"tools", "prompts", "resources"} {
		if capabilities[list] == nil {
			continue
		}
		if _, err := s.ask(list+"/list", params); err != nil {
			return err
		}
	}
	if capabilities["tools"] == nil {
		return nil
	}
	if params == nil && p.Echoes {
		const id = `"call"`
		s.asked[id] = "tools/call"
		err := s.write(p.Smallest(target.Tool).WithID(id))
		if err != nil {
			return err
		}
		_, err = s.awaitAnswer("tools/call", id)
		return err
	}
	return nil
}

// openAny opens a session, or finds out whether the server needs none. It returns the capabilities
// of the server, and the params that each request of the revision carries.
func (s *mcpSession) openAny(revision string) (map[string]any, []byte, error) {
	if revision != mcpstdio.FirstWithout {
		answer, err := s.initialize(revision)
		if err == nil {
			err = s.send("", "notifications/initialized", nil)
		}
		return answer.Capabilities, nil, err
	}
	about, err := s.discover()
	if err == nil && !slices.Contains(about.SupportedVersions, revision) {
		err = departure{results.OK, "speaks no revision without sessions"}
	}
	return about.Capabilities, meta(revision), err
}

// misfit returns why a message does not fit the schema; "" if it does, or if the schema does not
// know it: a server may have methods of its own.
func (s *mcpSession) misfit(schema *mcpSchema, m heardMessage) (string, error) {
	var part *jsonschema.Schema
	var text []byte
	switch {
	case m.Kind() == jsonrpc.None:
		return "", nil // another situation judges lines that are no messages
	case !m.Kind().Answers():
		part = schema.Sent[m.Method]
		params := m.Params
		if params == nil {
			params = []byte("{}")
		}
		text = fmt.Appendf(nil, `{"method":%q,"params":%s}`, m.Method, params)
	case m.Failure != nil:
		part = schema.Error
		text = m.Failure
	default:
		part = schema.Results[s.asked[m.ID]]
		text = m.Result
	}
	if part == nil {
		return "", nil
	}
	root := &jsonschema.Schema{AllOf: []*jsonschema.Schema{part}, Defs: schema.Defs}
	resolved, err := root.Resolve(nil)
	if err != nil {
		return "", err
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return "", err
	}
	err = resolved.Validate(value)
	if err == nil {
		return "", nil
	}
	return shortMisfit(err), nil
}

// shortMisfit returns the innermost part that does not fit, and why. If the schema allows
// alternatives, the one that the message seems to be counts.
func shortMisfit(err error) string {
	lines := strings.Split(err.Error(), "\n")
	chosen := lines[len(lines)-1]
	for _, line := range lines[1:] {
		if !strings.Contains(line, "const: ") {
			chosen = line
			break
		}
	}
	if i := strings.LastIndex(chosen, "validating "); i >= 0 {
		chosen = chosen[i+len("validating "):]
	}
	return lastLine(strings.TrimPrefix(chosen, "/$defs/"))
}

// nameOf says which message it is.
func (s *mcpSession) nameOf(m heardMessage) string {
	if m.Kind().Answers() {
		return "its answer to " + s.asked[m.ID]
	}
	return m.Method
}
