// Package jsonrpc reads and writes JSON-RPC 2.0 messages without decoding what they carry.
//
//	m, err := jsonrpc.Parse(line)
//	if m.Kind() == jsonrpc.Request {
//		line = jsonrpc.AppendResult(line[:0], m.ID, []byte(`{"ok":true}`))
//	}
//
// [Parse] validates a message. [Scan] is faster and validates nothing, for programs that pass
// messages on.
//
// An id keeps its text: 1, 1.0 and "1" are three ids. A batch is not a message.
//
// All functions may be called concurrently.
package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The codes of JSON-RPC 2.0.
const (
	CodeParse          = -32700 // what came is not JSON
	CodeInvalidRequest = -32600 // JSON, but not a message
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// An ID is the JSON text of an id, so `1` and `"1"` differ. "" means that there is no id.
type ID string

// Null and Empty are ids for the answer to a message whose id is not known. JSON-RPC asks for Null,
// but some clients cannot read null.
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
	Notification             // has a method and no id: wants no answer
	Result                   // answers a request
	Failure                  // answers a request with an error
)

// Answers reports whether a message of kind k answers a request.
func (k Kind) Answers() bool { return k == Result || k == Failure }

// kindOf tells the kind of a message from the members that the message has.
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

// ParseError reads the member "error" of an answer. If the member is not of the right form, the
// Error has code 0, and Data holds the member's text.
func ParseError(text []byte) *Error {
	var e Error
	err := json.Unmarshal(text, &e)
	if err != nil {
		return &Error{
			Message: "the peer's error is not of the form {code, message}",
			Data:    bytes.Clone(text),
		}
	}
	return &e
}

// prefix begins every message.
const prefix = `{"jsonrpc":"2.0"`

// AppendRequest appends a request, or a notification if id is empty. params is JSON text without
// newlines, or nil if there are no params.
func AppendRequest(dst []byte, id ID, method string, params []byte) []byte {
	dst = append(dst, prefix...)
	if id != "" {
		dst = append(dst, `,"id":`...)
		dst = append(dst, id...)
	}
	dst = append(dst, `,"method":`...)
	dst = AppendString(dst, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// AppendResult appends the answer to the request with this id. result is JSON text without
// newlines.
func AppendResult(dst []byte, id ID, result []byte) []byte {
	return appendAnswer(dst, id, `,"result":`, result)
}

// AppendError appends the error e, as the answer to the request with this id.
func AppendError(dst []byte, id ID, e Error) []byte {
	failure := strconv.AppendInt([]byte(`{"code":`), e.Code, 10)
	failure = append(failure, `,"message":`...)
	failure = AppendString(failure, e.Message)
	if e.Data != nil {
		failure = append(failure, `,"data":`...)
		failure = append(failure, e.Data...)
	}
	return AppendFailure(dst, id, append(failure, '}'))
}

// AppendFailure does the same as AppendError for an error that is JSON text already.
func AppendFailure(dst []byte, id ID, failure []byte) []byte {
	return appendAnswer(dst, id, `,"error":`, failure)
}

func appendAnswer(dst []byte, id ID, member string, value []byte) []byte {
	dst = append(dst, prefix...)
	dst = append(dst, `,"id":`...)
	dst = append(dst, id...)
	dst = append(dst, member...)
	dst = append(dst, value...)
	return append(dst, '}')
}

// AppendString appends a text as a JSON string.
func AppendString[T ~string | ~[]byte](dst []byte, text T) []byte {
	dst, _ = jsontext.AppendQuote(dst, text) // the error only says that invalid UTF-8 was replaced
	return dst
}

// A Message is a JSON-RPC message. Params, Result and Failure are JSON text. In a Message from
// [Parse], they point into the line that was parsed.
type Message struct {
	ID      ID
	Method  string
	Params  []byte
	Result  []byte
	Failure []byte // the member "error"
	named   bool   // whether there is a method
}

func (m *Message) Kind() Kind {
	return kindOf(m.named, m.ID != "", m.Failure != nil, m.Result != nil)
}

// A FormError is returned for JSON that is not a JSON-RPC 2.0 message.
type FormError struct {
	ID  ID // of the message, if it has one that can be answered
	Why string
}

func (e *FormError) Error() string { return "parse message: " + e.Why }

// Parse reads one message. If the line is exactly one JSON value in valid UTF-8, an error is a
// [*FormError].
func Parse(line []byte) (Message, error) {
	if !utf8.Valid(line) {
		return Message{}, errors.New("parse message: not JSON: it is no UTF-8")
	}
	dec := decoder(line)
	kind := dec.PeekKind()
	var found members
	var twice string
	var err error
	if kind == '{' {
		found, twice, err = readMembers(dec)
	} else {
		_, err = dec.ReadValue()
	}
	_, endErr := dec.ReadToken()
	if err == nil && endErr != io.EOF {
		err = errors.New("more than one value")
	}
	switch {
	case err != nil:
		return Message{}, fmt.Errorf("parse message: not JSON: %w", err)
	case kind == '[':
		return Message{}, &FormError{
			Why: "a batch, which is not accepted: send its messages one by one",
		}
	case kind != '{':
		return Message{}, &FormError{Why: "not an object"}
	}
	m, why := found.message()
	if twice != "" {
		why = fmt.Sprintf("member %q comes twice", twice)
	}
	if why != "" {
		return Message{}, &FormError{ID: m.ID, Why: why}
	}
	return m, nil
}

// decoder returns a decoder that reads b without copying or changing it.
func decoder(b []byte) *jsontext.Decoder {
	// To look for duplicate names, the decoder would need a set for each object. If it checked
	// UTF-8, it would refuse half a surrogate pair, such as "\ud83d". Some encoders write such
	// halves.
	return jsontext.NewDecoder(
		bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// members are the members of a message that JSON-RPC defines, by their names.
type members map[string]jsontext.Value

// readMembers reads the object that comes next in dec. The second result names a member that came
// twice, or is "".
func readMembers(dec *jsontext.Decoder) (found members, twice string, err error) {
	if _, err := dec.ReadToken(); err != nil { // the brace
		return nil, "", err
	}
	found = members{}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, "", err
		}
		name := token.String() // the token is valid until the next read
		value, err := dec.ReadValue()
		if err != nil {
			return nil, "", err
		}
		switch name {
		case "jsonrpc", "id", "method", "params", "result", "error":
			if found[name] != nil {
				twice = name
			}
			found[name] = value
		}
	}
	_, err = dec.ReadToken()
	return found, twice, err
}

// message returns the message. The second result says why the message is wrong, or is "".
func (found members) message() (m Message, why string) {
	m = Message{Params: found["params"], Result: found["result"], Failure: found["error"]}
	id := found["id"]
	method := found["method"]
	if answerable(id.Kind()) {
		m.ID = ID(id)
	}
	if method.Kind() == '"' {
		// The only possible error says that half a surrogate pair was replaced.
		text, _ := jsontext.AppendUnquote(nil, method)
		m.Method = string(text)
		m.named = true
	}
	answer := m.Result != nil || m.Failure != nil
	switch {
	case string(found["jsonrpc"]) != `"2.0"`:
		why = `member "jsonrpc" is not "2.0"`
	case method != nil && !m.named:
		why = `member "method" is not a string`
	case m.named && id != nil && m.ID == "":
		why = `member "id" is neither a number nor a string`
	case !m.named && !answer:
		why = `neither a method nor a result`
	case m.named && answer:
		why = `both a method and a result`
	case !m.named && id == nil:
		why = `a result without an id`
	}
	return m, why
}

// answerable reports whether an id of kind k can be answered: the id must be a string or a number.
func answerable(k jsontext.Kind) bool { return k == '"' || k == '0' }
