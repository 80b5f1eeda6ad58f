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

// A schemaWatch holds every message that an MCP server sends to the schema of its revision,
// whatever the situation. A message that the schemas do not describe is left alone: a server may
// have methods of its own.
type schemaWatch struct {
	stateless bool // the server speaks FirstWithout

	mu       sync.Mutex
	sessions *mcpSchema // of LastWithHandshake, which allows all that earlier revisions allow
	without  *mcpSchema // of FirstWithout
	fit      int        // messages
	framed   int        // bytes of the smallest message that came in frames; 0 if none did
	misfits  []Misfit   // the first message of each kind that does not fit
}

// A Misfit is a message of a server that does not fit the schema of MCP.
type Misfit struct {
	Message  string `json:"message"` // what it is
	Revision string `json:"revision"`
	Why      string `json:"why"`  // begins with the place in the schema
	Text     string `json:"text"` // the beginning of the message
}

func (m Misfit) String() string {
	return fmt.Sprintf("%s does not fit the schema of %s: %s", m.Message, m.Revision, m.Why)
}

// newSchemaWatch makes the watch of a server, which speaks a protocol of that name.
func newSchemaWatch(protocol string) (*schemaWatch, error) {
	sessions, err := readSchema(mcpstdio.LastWithHandshake)
	if err != nil {
		return nil, err
	}
	without, err := readSchema(mcpstdio.FirstWithout)
	if err != nil {
		return nil, err
	}
	stateless := protocol == "mcp "+mcpstdio.FirstWithout
	return &schemaWatch{stateless: stateless, sessions: sessions, without: without}, nil
}

// begin watches another conversation with the server.
func (w *schemaWatch) begin() child.Watcher {
	return &schemaWatcher{watch: w, asked: map[jsonrpc.ID]askedFor{}}
}

// found returns the messages that do not fit, and how many do.
func (w *schemaWatch) found() (misfits []Misfit, fit int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.misfits, w.fit
}

// inFrames is found in situations whose answers came in frames: mcp-schema alone fails for that.
const inFrames = "its answers come in chunk frames, which clients of MCP do not read: see " +
	"mcp-schema; to check it for a client of its own, use --framing adaptive"

// frames returns how large the smallest message is that came in frames; 0 if none did.
func (w *schemaWatch) frames() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.framed
}

// A schemaWatcher watches one conversation for a schemaWatch.
type schemaWatcher struct {
	watch *schemaWatch

	mu    sync.Mutex
	asked map[jsonrpc.ID]askedFor // requests without an answer
}

// An askedFor is the request of an id. It is zero if two requests had the id at the same time:
// then it cannot be known which of them an answer is to.
type askedFor struct {
	method, revision string
	tool             string // that was called; "" for other methods
}

func (w *schemaWatcher) Sent(msg []byte) {
	m, err := jsonrpc.Parse(msg)
	if err != nil || m.Kind() != jsonrpc.Request {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, waits := w.asked[m.ID]
	if waits {
		w.asked[m.ID] = askedFor{}
		return
	}
	asked := askedFor{method: m.Method, revision: revisionOf(m.Params)}
	if m.Method == "tools/call" {
		var call struct{ Name string }
		_ = json.Unmarshal(m.Params, &call) // ours, without mistakes
		asked.tool = call.Name
	}
	w.asked[m.ID] = asked
}

// revisionOf returns the revision of a request of ours; "" for one that does not exist.
func revisionOf(params []byte) string {
	switch {
	case bytes.Contains(params, []byte(mcpstdio.Meta(mcpstdio.FirstWithout))):
		return mcpstdio.FirstWithout
	case bytes.Contains(params, []byte(`"_meta"`)):
		return ""
	}
	return mcpstdio.LastWithHandshake
}

// String names the request as a person knows it.
func (a askedFor) String() string {
	if a.tool == "" {
		return a.method
	}
	return fmt.Sprintf("%s of %q", a.method, a.tool)
}

func (w *schemaWatcher) Heard(line child.Message) {
	if n := len(line.Raw); line.InChunks {
		w.watch.mu.Lock()
		if w.watch.framed == 0 || n < w.watch.framed {
			w.watch.framed = n
		}
		w.watch.mu.Unlock()
	}
	m, err := jsonrpc.Parse(line.Raw)
	if line.Err != nil || err != nil {
		return // another situation judges lines that are no messages
	}
	if !m.Kind().Answers() {
		w.watch.judgeOwn(m, line.Raw)
		return
	}
	w.mu.Lock()
	asked := w.asked[m.ID]
	if asked.method != "" {
		delete(w.asked, m.ID)
	}
	w.mu.Unlock()
	w.watch.judgeAnswer(asked, m, line.Raw)
}

// judgeAnswer judges an answer of the server.
func (w *schemaWatch) judgeAnswer(asked askedFor, m jsonrpc.Message, line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.Failure != nil { // errors are the same in all revisions
		name := "an error"
		if asked.method != "" {
			name = "its error in answer to " + asked.String()
		}
		err := w.sessions.misfit(w.sessions.Error, m.Failure)
		w.add(name, mcpstdio.LastWithHandshake, err, line)
		return
	}
	var schema *mcpSchema
	switch {
	case asked.revision == mcpstdio.LastWithHandshake:
		schema = w.sessions
	case asked.revision == mcpstdio.FirstWithout && w.stateless:
		schema = w.without
	default:
		return
	}
	part := schema.Results[asked.method]
	if asked.tool == noTool && !failsCall(m.Result) {
		return // that it has no error is the fault, and mcp-tools finds it
	}
	if part != nil {
		err := schema.misfit(part, m.Result)
		w.add("its answer to "+asked.String(), schema.revision, err, line)
	}
}

// judgeOwn judges a request or a notification of the server. It may be of any revision.
func (w *schemaWatch) judgeOwn(m jsonrpc.Message, line []byte) {
	params := m.Params
	if params == nil {
		params = []byte("{}")
	}
	text := fmt.Appendf(nil, `{"method":%q,"params":%s}`, m.Method, params)
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	described := ""
	for _, schema := range []*mcpSchema{w.without, w.sessions} {
		part := schema.Sent[m.Method]
		if part == nil {
			continue
		}
		described = schema.revision
		err = schema.misfit(part, text)
		if err == nil {
			break
		}
	}
	if described != "" {
		w.add(m.Method, described, err, line)
	}
}

// add counts a message that fits, or keeps one that does not if it is the first of its kind.
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
	w.misfits = append(w.misfits, Misfit{
		Message: name, Revision: revision, Why: shortMisfit(err),
		Text: string(line[:min(len(line), mostKept)]),
	})
}
