package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
)

// A schemaWatch compares every message that an MCP server sends, in any test, with the schema of
// MCP. It ignores messages whose method is in no schema.
type schemaWatch struct {
	stateless bool // the server speaks the first revision of MCP that has no sessions

	mu      sync.Mutex            // guards the rest, and the conversations
	schemas map[string]*mcpSchema // of watchedRevisions, by revision
	fit     int                   // how many messages fit
	misfits []Misfit              // the first message of each kind that does not fit
}

// watchedRevisions are the first revision of MCP without sessions, and the last with sessions. The
// schema of the latter fits messages of earlier revisions, too.
var watchedRevisions = []string{mcpstdio.FirstStateless, mcpstdio.LastWithHandshake}

// A Misfit is a message of a server that does not fit the schema of MCP.
type Misfit struct {
	Message  string `json:"message"` // in words, such as "its answer to tools/list"
	Revision string `json:"revision"`
	Why      string `json:"why"`  // begins with the part of the schema that is not met
	Text     string `json:"text"` // the beginning of the message
}

func (m Misfit) String() string {
	return fmt.Sprintf("%s does not fit the schema of %s: %s", m.Message, m.Revision, m.Why)
}

// newSchemaWatch makes a schemaWatch for a server that speaks the given protocol, such as "mcp
// 2025-11-25".
func newSchemaWatch(protocol string) (*schemaWatch, error) {
	w := &schemaWatch{
		stateless: protocol == "mcp "+mcpstdio.FirstStateless, schemas: map[string]*mcpSchema{},
	}
	for _, revision := range watchedRevisions {
		schema, err := readSchema(revision)
		if err != nil {
			return nil, err
		}
		w.schemas[revision] = schema
	}
	return w, nil
}

// begin returns a watcher for another conversation with the server.
func (w *schemaWatch) begin() child.Watcher {
	return &conversation{watch: w, asked: map[jsonrpc.ID]askedFor{}}
}

// found returns the messages that do not fit the schema, and the number of messages that fit.
func (w *schemaWatch) found() (misfits []Misfit, fit int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.misfits, w.fit
}

// inFrames says why most tests cannot judge a server whose answers come in chunks.
const inFrames = "its answers come in chunk frames, which clients of MCP do not read: see " +
	"mcp-schema; to check it for a client of its own, use --framing adaptive"

// A conversation watches what we and one process of the server send each other.
type conversation struct {
	watch *schemaWatch
	asked map[jsonrpc.ID]askedFor // what our unanswered requests ask for; guarded by watch.mu
}

// An askedFor is what a request of ours asked for. It is zero if two requests have the same id,
// since an answer with this id may belong to either.
type askedFor struct {
	method, revision string
	tool             string // the tool that was called; "" for other methods than tools/call
}

// Sent notes what a message of ours asks for.
func (c *conversation) Sent(msg []byte) {
	m, err := jsonrpc.Parse(msg)
	if err != nil || m.Kind() != jsonrpc.Request {
		return
	}
	c.watch.mu.Lock()
	defer c.watch.mu.Unlock()
	_, taken := c.asked[m.ID]
	if taken {
		c.asked[m.ID] = askedFor{}
		return
	}
	asked := askedFor{method: m.Method, revision: revisionOf(m.Params)}
	if m.Method == "tools/call" {
		var call struct{ Name string }
		_ = json.Unmarshal(m.Params, &call) // no error: the message is ours
		asked.tool = call.Name
	}
	c.asked[m.ID] = asked
}

// revisionOf returns the revision of MCP that a request of ours is written in: the first without
// sessions, the last with sessions, or "" if its "_meta" names another revision.
func revisionOf(params []byte) string {
	switch {
	case bytes.Contains(params, []byte(mcpstdio.Meta(mcpstdio.FirstStateless))):
		return mcpstdio.FirstStateless
	case bytes.Contains(params, []byte(`"_meta"`)):
		return ""
	}
	return mcpstdio.LastWithHandshake
}

// String returns a name for the request, to be read by people.
func (a askedFor) String() string {
	if a.tool == "" {
		return a.method
	}
	return fmt.Sprintf("%s of %q", a.method, a.tool)
}

// Heard judges a message of the server.
func (c *conversation) Heard(line child.Message) {
	m, err := jsonrpc.Parse(line.Raw)
	w := c.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case line.Err != nil || err != nil: // another test judges lines that are no messages
	case m.Kind().Answers():
		asked := c.asked[m.ID]
		if asked.method != "" {
			delete(c.asked, m.ID)
		}
		w.judgeAnswer(asked, m, line.Raw)
	default:
		w.judgeOwn(m, line.Raw)
	}
}

// judgeAnswer compares m, the server's answer to a request of ours, with the schema of MCP.
func (w *schemaWatch) judgeAnswer(asked askedFor, m jsonrpc.Message, line []byte) {
	if m.Failure != nil { // errors are the same in all revisions
		name := "an error"
		if asked.method != "" {
			name = "its error in answer to " + asked.String()
		}
		schema := w.schemas[mcpstdio.LastWithHandshake]
		w.add(name, mcpstdio.LastWithHandshake, schema.misfit(schema.Error, m.Failure), line)
		return
	}
	schema := w.schemas[asked.revision]
	if schema == nil || asked.revision == mcpstdio.FirstStateless && !w.stateless {
		return
	}
	part := schema.Results[asked.method]
	if asked.tool == noTool && !failsCall(m.Result) {
		return // the test "mcp-tools" judges this: an unknown tool was called without an error
	}
	if part != nil {
		err := schema.misfit(part, m.Result)
		w.add("its answer to "+asked.String(), asked.revision, err, line)
	}
}

// judgeOwn compares a request or a notification of the server with two schemas of MCP. The message
// has to fit only one of the two, since it does not name its revision.
func (w *schemaWatch) judgeOwn(m jsonrpc.Message, line []byte) {
	params := m.Params
	if params == nil {
		params = []byte("{}")
	}
	text := fmt.Appendf(nil, `{"method":%q,"params":%s}`, m.Method, params)
	var err error
	described := "" // the last revision in the loop whose schema has this method, if any
	for _, revision := range watchedRevisions {
		schema := w.schemas[revision]
		part := schema.Sent[m.Method]
		if part == nil {
			continue
		}
		described = revision
		err = schema.misfit(part, text)
		if err == nil {
			break
		}
	}
	if described != "" {
		w.add(m.Method, described, err, line)
	}
}

// If err is nil, a message fits the schema, and add counts it. Of the messages that do not fit, add
// keeps the first of each kind.
func (w *schemaWatch) add(name, revision string, err error, line []byte) {
	if err == nil {
		w.fit++
		return
	}
	for _, m := range w.misfits {
		if m.Message == name && m.Revision == revision {
			return
		}
	}
	const mostKept = 2 << 10
	w.misfits = append(w.misfits, Misfit{
		Message: name, Revision: revision, Why: shortMisfit(err),
		Text: string(line[:min(len(line), mostKept)]),
	})
}
