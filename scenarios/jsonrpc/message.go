// Package jsonrpc reads and writes JSON-RPC 2.0 messages without decoding what they carry.
//
//	m, err := jsonrpc.Parse(line)
//	if m.Kind() == jsonrpc.Request {
//		line = jsonrpc.AppendResult(line[:0], m.ID, []byte(`{"ok":true}`))
//	}
//
// There are two ways to read. [Parse] is the strict one: one pass validates the JSON and its UTF-8,
// finds the members of the outermost object and leaves params and result as they are. A [Scanner]
// is the fast one, for programs that pass messages on: it finds the id, the method and what kind of
// message it is, in pieces however they were cut, keeps a few hundred bytes at most, allocates
// nothing and validates nothing.
//
//	e := jsonrpc.Scan(msg)
//	if e.Kind() == jsonrpc.Result {
//		finish(string(e.ID))
//	}
//
// [Peek] is faster still, and gives up unless the message begins as most do.
//
// Names are matched exactly, and an id keeps its text, so that 1, 1.0 and "1" stay three ids. Both
// look at the members of the outermost object alone, so an "id" inside a result does not mislead
// them. Batches are not messages.
//
// The functions share nothing and may be called concurrently; a Scanner belongs to one goroutine.
package jsonrpc

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// The codes of JSON-RPC 2.0.
const (
	CodeParse          = -32700 // what came is not JSON
	CodeInvalidRequest = -32600 // JSON, but not a message
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// An ID is the JSON text of a request's id, a number or a string: `1` and `"1"` differ. The zero ID
// stands for none.
type ID string

// Null and Empty are the ids of answers to what has no id that can be known: JSON-RPC's choice, and
// the one of clients whose ids cannot be null.
const (
	Null  ID = `null`
	Empty ID = `""`
)

// Number returns the id n.
func Number(n int64) ID { return ID(strconv.FormatInt(n, 10)) }

// A Kind is what a message is.
type Kind uint8

const (
	None         Kind = iota // no JSON-RPC message
	Request                  // has a method and an id: wants an answer
	Notification             // has a method and no id: wants none
	Result                   // answers a request
	Failure                  // answers a request with an error
)

// Answers reports whether a message of that kind answers a request.
func (k Kind) Answers() bool { return k == Result || k == Failure }

func kindOf(method, id, failure, result bool) Kind {
	switch {
	case method && id:
		return Request
	case method:
		return Notification
	case failure:
		return Failure
	case result:
		return Result
	}
	return None
}

// An Error is the error that an answer carries.
type Error struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"` // nil for none
}

func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// ParseError reads the member "error" of an answer. One that is not of JSON-RPC's form is kept as
// the data of an error with code 0.
func ParseError(text []byte) *Error {
	var e Error
	if err := json.Unmarshal(text, &e); err != nil {
		return &Error{Message: "the peer's error is not of the form {code, message}", Data: append(json.RawMessage(nil), text...)}
	}
	return &e
}

// prefix begins every message.
const prefix = `{"jsonrpc":"2.0"`

// AppendRequest appends a request to dst, or a notification if id is empty. params is JSON text
// without newlines, or nil for none.
func AppendRequest(dst []byte, id ID, method string, params []byte) []byte {
	dst = append(dst, prefix...)
	if id != "" {
		dst = append(append(dst, `,"id":`...), id...)
	}
	dst = append(dst, `,"method":`...)
	dst = appendString(dst, method)
	if params != nil {
		dst = append(append(dst, `,"params":`...), params...)
	}
	return append(dst, '}')
}

// AppendResult appends the answer to the request id. result is JSON text without newlines.
func AppendResult(dst []byte, id ID, result []byte) []byte {
	return appendAnswer(dst, id, `,"result":`, result)
}

// AppendError appends an answer that says that the request id failed.
func AppendError(dst []byte, id ID, e Error) []byte {
	failure := strconv.AppendInt([]byte(`{"code":`), e.Code, 10)
	failure = appendString(append(failure, `,"message":`...), e.Message)
	if e.Data != nil {
		failure = append(append(failure, `,"data":`...), e.Data...)
	}
	return AppendFailure(dst, id, append(failure, '}'))
}

// AppendFailure appends an answer that says that the request id failed, in the JSON text of an
// error.
func AppendFailure(dst []byte, id ID, failure []byte) []byte {
	return appendAnswer(dst, id, `,"error":`, failure)
}

func appendAnswer(dst []byte, id ID, member string, value []byte) []byte {
	dst = append(append(append(dst, prefix...), `,"id":`...), id...)
	return append(append(append(dst, member...), value...), '}')
}

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, _ := json.Marshal(s) // a string marshals always
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}
