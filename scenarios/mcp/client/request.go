package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// A Request is what a person or a script wrote on one line.
type Request struct {
	Method string
	Params json.RawMessage // nil for none
	Notice bool            // wants no answer
	id     jsonrpc.ID      // of the answer that Send returns; the server gets another id
}

// ParseRequest reads a line: a JSON-RPC message, a method with params, or a tool with arguments. In
// the last two forms, the parameter number becomes the id.
//
//	{"jsonrpc":"2.0","id":1,"method":"tools/list"}
//	tools/list {"cursor":"2"}
//	echo {"message":"hi"}
func ParseRequest(line []byte, number int64) (Request, error) {
	if bytes.HasPrefix(line, []byte("{")) {
		m, err := jsonrpc.Parse(line)
		if err == nil && m.Kind().Answers() {
			err = errors.New("an answer, where a request is wanted")
		}
		notice := m.Kind() == jsonrpc.Notification
		return Request{id: m.ID, Method: m.Method, Params: m.Params, Notice: notice}, err
	}
	name, rest, _ := strings.Cut(string(line), " ")
	if name == "" {
		return Request{}, errors.New("a request begins with the name of a method or a tool")
	}
	q := Request{
		id: jsonrpc.Number(number), Method: name,
		Notice: strings.HasPrefix(name, "notifications/"),
	}
	body := strings.TrimSpace(rest)
	if body != "" {
		q.Params = json.RawMessage(body)
	}
	if q.Params != nil && !json.Valid(q.Params) {
		return q, fmt.Errorf("what follows %s is not JSON", name)
	}
	if !strings.Contains(name, "/") && name != "ping" {
		q.Method = "tools/call"
		if q.Params == nil {
			q.Params = json.RawMessage("{}")
		}
		// No error is possible: a string and valid JSON can be encoded.
		q.Params, _ = json.Marshal(map[string]any{"name": name, "arguments": q.Params})
	}
	return q, nil
}

// Send sends the request and returns the message that answers it. If no answer comes, Send makes an
// error message. failed is true if the message is an error or says that a tool failed.
func (q Request) Send(ctx context.Context, c Caller) (answer []byte, failed bool) {
	result, err := c.Call(ctx, q.Method, q.Params)
	if err == nil {
		var tool struct{ IsError bool }
		_ = json.Unmarshal(result, &tool) // a result that is no object does not come from a tool
		return jsonrpc.AppendResult(nil, q.id, result), tool.IsError
	}
	remote, answered := errors.AsType[*jsonrpc.Error](err)
	if !answered {
		remote = &jsonrpc.Error{Code: codeOfOurOwn, Message: err.Error()}
	}
	return jsonrpc.AppendError(nil, q.id, *remote), true
}

// codeOfOurOwn is the code of an error that Send makes itself: the first code that JSON-RPC leaves
// to implementations.
const codeOfOurOwn = -32000

// Notification returns what Options.OnNotification got, as a message.
func Notification(method string, params []byte) []byte {
	return jsonrpc.AppendRequest(nil, "", method, params)
}
