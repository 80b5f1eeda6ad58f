package check

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
)

//go:embed schemas/*.json
var schemaFiles embed.FS

// An mcpSchema describes the messages that a server may send in one revision of MCP.
type mcpSchema struct {
	Error   *jsonschema.Schema
	Results map[string]*jsonschema.Schema // what our requests return, by method
	Sent    map[string]*jsonschema.Schema // the server's requests and notifications, by method
	Defs    map[string]*jsonschema.Schema `json:"$defs"`

	resolved map[*jsonschema.Schema]*jsonschema.Resolved // of the parts used so far
}

func readSchema(revision string) (*mcpSchema, error) {
	text, err := schemaFiles.ReadFile("schemas/" + revision + ".json")
	if err != nil {
		return nil, err
	}
	s := &mcpSchema{resolved: map[*jsonschema.Schema]*jsonschema.Resolved{}}
	return s, json.Unmarshal(text, s)
}

// misfit returns why a JSON text does not fit a part of the schema; nil if it fits.
func (s *mcpSchema) misfit(part *jsonschema.Schema, text []byte) error {
	resolved := s.resolved[part]
	if resolved == nil {
		root := &jsonschema.Schema{AllOf: []*jsonschema.Schema{part}, Defs: s.Defs}
		var err error
		resolved, err = root.Resolve(nil)
		if err != nil {
			return err
		}
		s.resolved[part] = resolved
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	return resolved.Validate(value)
}

// shortMisfit shortens an error of the method misfit to the innermost part of the schema that is
// not met. Where the schema has alternatives, shortMisfit takes the one that the server probably
// meant.
func shortMisfit(err error) string {
	lines := strings.Split(err.Error(), "\n")
	chosen := lines[len(lines)-1]
	for _, line := range lines[1:] {
		if !strings.Contains(line, "const: ") { // its constants fit: the server probably meant it
			chosen = line
			break
		}
	}
	if i := strings.LastIndex(chosen, "validating "); i >= 0 {
		chosen = chosen[i+len("validating "):]
	}
	return lastLine(strings.TrimPrefix(chosen, "/$defs/"))
}

// fitsSchemas makes requests that change nothing on the server. It then judges by the schemas of
// MCP all messages that the server has sent, in this test and in earlier ones.
func fitsSchemas(ctx context.Context, c *serverCase) error {
	for _, revision := range []string{mcpstdio.LastWithHandshake, mcpstdio.FirstStateless} {
		s, err := c.startSession(ctx)
		if err != nil {
			return err
		}
		err = s.askAll(revision, c.protocol)
		s.Close()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if s.InChunks() {
			c.fails("an answer comes in chunk frames, and clients read lines: " +
				"send each message as one line (pipebench drive tells where the frames begin)")
		}
		_, notSpoken := errors.AsType[exemption](err)
		if err != nil && !notSpoken {
			c.fails("%v", err)
			return nil
		}
	}
	misfits, fit := c.watch.found()
	c.seen.Misfits = misfits
	if len(misfits) > 0 {
		c.fails("%s", misfits[0])
	}
	if more := len(misfits) - 1; more > 0 {
		c.Found += fmt.Sprintf("; and %s", results.FormatCount(more, "other kind"))
	}
	c.ok("%s fit the schema", results.FormatCount(fit, "message"))
	return nil
}

// askAll asks for the server's lists of tools, prompts and resources, and calls a tool that returns
// the text that it is given. If the server does not speak the revision of MCP, the error has the
// type exemption.
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
		const small, large = `"call"`, `"large call"` // ids
		_, err := s.call("tools/call", small, p.Smallest(target.Tool).WithID(small))
		if err != nil {
			return err
		}
		// an error is ignored: whether the server can read so much is judged by another test
		msg := p.Request(target.Tool, largeCall).WithID(large)
		_, _ = s.call("tools/call", large, msg)
	}
	return nil
}

// largeCall is the size of a request in bytes. Some servers split their answer to such a request
// into chunks.
const largeCall = 128 << 10
