package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// serve carries out a request. Methods that may take long run in goroutines of their own.
func (s *Server) serve(r *request) {
	err := s.findRevision(r)
	allowedEarly := r.stateless || r.method == "initialize" || r.method == "ping"
	tooEarly := s.opts.StrictLifecycle && !s.initialized.Load() && !allowedEarly
	switch {
	case err != nil:
		s.answerError(r, err)
	case tooEarly:
		why := fmt.Sprintf("method %q is invalid during session initialization", r.method)
		s.answerError(r, invalidRequest(why))
	case r.method == "tools/call":
		s.workers.Go(func() {
			result, err := s.callTool(r)
			s.answerResult(r, result, err)
		})
	case r.method == Listen && r.stateless:
		s.workers.Go(func() { s.listen(r) })
	default:
		result, err := s.dispatch(r)
		s.answerResult(r, result, err)
	}
}

// dispatch carries out a method that takes no time, and returns its result.
func (s *Server) dispatch(r *request) (result any, err *jsonrpc.Error) {
	switch {
	case r.method == "initialize" && !r.stateless:
		return s.initialize(r)
	case r.method == "ping" && !r.stateless:
		return struct{}{}, nil
	case r.method == "server/discover" && r.stateless:
		return notCached(map[string]any{
			"supportedVersions": newestFirst(), "capabilities": s.capabilities(),
		}), nil
	case r.method == "server/discover" && !s.initialized.Load():
		return nil, invalidParams(`_meta lacks "` + scope + `protocolVersion"`)
	case r.method == "tools/list":
		return s.listTools(r)
	case r.method == "logging/setLevel" && !r.stateless:
		return setLevel(r)
	case strings.HasPrefix(r.method, "notifications/"):
		return nil, invalidRequest("a notification has no id")
	}
	message := "Method not found: " + clip(strconv.Quote(r.method))
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: message}
}

// decode decodes the params of a request into the variable that target points to.
func decode(r *request, target any) *jsonrpc.Error {
	if len(r.params) == 0 {
		return invalidParams(r.method + " needs params")
	}
	err := jsonv2.Unmarshal(r.params, target,
		// A client may send half a surrogate pair, which is not valid UTF-8.
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return invalidParams("those of " + r.method + " have another form")
	}
	return nil
}

// findRevision sets r.stateless if the params name a revision of the protocol. It returns an error
// if this server does not speak the revision, or if the params are malformed.
func (s *Server) findRevision(r *request) *jsonrpc.Error {
	var params struct {
		Meta struct {
			Revision     string          `json:"io.modelcontextprotocol/protocolVersion"`
			Capabilities json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
	}
	if len(r.params) == 0 {
		return nil
	}
	err := decode(r, &params)
	r.stateless = err == nil && params.Meta.Revision != ""
	switch {
	case !r.stateless:
		return err
	case params.Meta.Revision != FirstStateless:
		data, _ := json.Marshal(map[string]any{ // texts always marshal
			"supported": newestFirst(), "requested": clip(params.Meta.Revision),
		})
		return &jsonrpc.Error{
			Code: codeUnsupportedRevision, Message: "unsupported protocol version", Data: data,
		}
	case params.Meta.Capabilities == nil:
		return invalidParams(`_meta lacks "` + scope + `clientCapabilities"`)
	}
	return nil
}

// newestFirst returns the revisions in the order in which server/discover lists them.
func newestFirst() []string {
	revisions := Revisions()
	slices.Reverse(revisions)
	return revisions
}

// initialize opens a session in the revision that the client asks for, or in the newest revision
// that has sessions.
func (s *Server) initialize(r *request) (any, *jsonrpc.Error) {
	var params struct {
		ProtocolVersion string `json:"protocolVersion"`
		Capabilities    struct {
			Experimental map[string]json.RawMessage `json:"experimental"`
		} `json:"capabilities"`
	}
	err := decode(r, &params)
	if err != nil {
		return nil, err
	}
	if s.initialized.Swap(true) {
		return nil, invalidRequest("initialize came before")
	}
	revision := params.ProtocolVersion
	if !slices.Contains(Revisions(), revision) || revision == FirstStateless {
		revision = LastWithHandshake
	}
	offers := s.capabilities()
	if params.Capabilities.Experimental[MaxFrameSize] != nil && s.opts.MaxMessage >= 0 {
		offers["experimental"] = map[string]int{MaxFrameSize: s.opts.MaxMessage}
	}
	revision = cmp.Or(oddVersions[s.opts.Fault.Kind], revision)
	return map[string]any{
		"protocolVersion": revision, "capabilities": offers, "serverInfo": s.about(),
	}, nil
}

func (s *Server) about() Implementation {
	return Implementation{Name: "pipebench", Version: s.opts.Version}
}

func (s *Server) capabilities() map[string]any {
	if s.opts.ChangingTools {
		return map[string]any{"tools": map[string]bool{"listChanged": true}}
	}
	return map[string]any{"tools": struct{}{}}
}

// notCached adds to a result the members that forbid the client to cache it.
func notCached(result map[string]any) map[string]any {
	result["ttlMs"] = 0
	result["cacheScope"] = "public"
	return result
}

// listTools returns all tools in one answer, without pages.
func (s *Server) listTools(r *request) (any, *jsonrpc.Error) {
	var params struct {
		Cursor string `json:"cursor"`
	}
	if r.params != nil {
		err := decode(r, &params)
		if err != nil {
			return nil, err
		}
	}
	if params.Cursor != "" {
		return nil, invalidParams("there is no such cursor")
	}
	result := map[string]any{"tools": s.offers}
	if r.stateless {
		result = notCached(result)
	}
	return result, nil
}

// setLevel accepts every log level of MCP, and changes nothing, because the server sends no logs.
func setLevel(r *request) (any, *jsonrpc.Error) {
	var params struct {
		Level string `json:"level"`
	}
	err := decode(r, &params)
	if err != nil {
		return nil, err
	}
	levels := []string{
		"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
	}
	if !slices.Contains(levels, params.Level) {
		return nil, invalidParams("the level is none of " + strings.Join(levels, ", "))
	}
	return struct{}{}, nil
}

// answerResult answers a request with an error, or with a result if the error is nil.
func (s *Server) answerResult(r *request, result any, failed *jsonrpc.Error) {
	if failed != nil {
		s.answerError(r, failed)
		return
	}
	// Results that are made here always marshal.
	text, _ := jsonv2.Marshal(result, jsonv2.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if r.stateless {
		text = s.withResultType(text, "" /* no subscription */)
	}
	_ = s.answer(r, jsonrpc.AppendResult(nil, r.id, text)) // answer logs its error
}

// withResultType adds to a result, a JSON object, the members that MCP requires where it has no
// handshake. subscription is "" except in the answer to a subscription.
func (s *Server) withResultType(object []byte, subscription jsonrpc.ID) []byte {
	about, _ := json.Marshal(s.about()) // texts always marshal
	head := `{"resultType":"complete","_meta":{"` + scope + `serverInfo":` + string(about)
	if subscription != "" {
		head += `,"` + scope + `subscriptionId":` + string(subscription)
	}
	head += "}"
	if string(object) == "{}" {
		return []byte(head + "}")
	}
	return slices.Concat([]byte(head+","), object[1:])
}

func (s *Server) answerError(r *request, err *jsonrpc.Error) {
	_ = s.answer(r, jsonrpc.AppendError(nil, r.id, *err)) // answer logs its error
}

// listen serves a subscription until the client or the server ends it. If the client wants to hear
// only of things that never change here, listen answers at once.
func (s *Server) listen(r *request) {
	var params struct {
		Notifications struct {
			ToolsListChanged bool `json:"toolsListChanged"`
		} `json:"notifications"`
	}
	err := decode(r, &params)
	if err != nil {
		s.answerError(r, err)
		return
	}
	agreed := `{}`
	listens := params.Notifications.ToolsListChanged && s.opts.ChangingTools
	if listens {
		agreed = `{"toolsListChanged":true}`
	}
	s.listening.Lock()
	// The lock keeps changes from being told before this.
	_ = s.send(ofSubscription(r.id, Acknowledged, `,"notifications":`+agreed))
	if listens {
		s.subscribed = append(s.subscribed, r)
	}
	s.listening.Unlock()
	if listens {
		<-r.ctx.Done()
		s.listening.Lock()
		s.subscribed = slices.DeleteFunc(s.subscribed, func(o *request) bool { return o == r })
		s.listening.Unlock()
	}
	_ = s.answer(r, jsonrpc.AppendResult(nil, r.id, s.withResultType([]byte("{}"), r.id)))
}

// ofSubscription makes a notification for the subscriber whose request has this id. rest is "", or
// a comma and further members of the params.
func ofSubscription(id jsonrpc.ID, method, rest string) []byte {
	params := `{"_meta":{"` + scope + `subscriptionId":` + string(id) + `}` + rest + `}`
	return jsonrpc.AppendRequest(nil, "", method, []byte(params))
}

// tellOfChange does the work of the tool change_tools. It tells the client, in its session and in
// each subscription, that the list of tools has changed.
func (s *Server) tellOfChange(context.Context, struct{}) (string, error) {
	if s.initialized.Load() {
		_ = s.send(jsonrpc.AppendRequest(nil, "", toolsChanged, nil))
	}
	s.listening.Lock()
	told := slices.Clone(s.subscribed)
	s.listening.Unlock()
	for _, r := range told {
		if r.ctx.Err() == nil {
			_ = s.send(ofSubscription(r.id, toolsChanged, ""))
		}
	}
	return "the list of tools has changed", nil
}
