package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A Message is the envelope of a JSON-RPC message. Params, Result and Failure are JSON text; those
// that Parse returns are slices of its argument.
type Message struct {
	ID      ID
	Method  string
	Params  []byte
	Result  []byte
	Failure []byte // the member "error"
	named   bool   // there is a method
}

// Kind returns the kind of m.
func (m *Message) Kind() Kind {
	return kindOf(m.named, m.ID != "", m.Failure != nil, m.Result != nil)
}

// A SyntaxError is returned for what is not one JSON value in valid UTF-8.
type SyntaxError struct{ Err error }

func (e *SyntaxError) Error() string { return fmt.Sprintf("parse message: not JSON: %v", e.Err) }
func (e *SyntaxError) Unwrap() error { return e.Err }

// A FormError is returned for JSON that is not a JSON-RPC 2.0 message.
type FormError struct {
	ID  ID // of the message, if it has one that can be answered
	Why string
}

func (e *FormError) Error() string { return "parse message: " + e.Why }

// Parse reads one message. Its error is a [*SyntaxError] or a [*FormError].
func Parse(line []byte) (Message, error) {
	dec := decoder(line)
	kind := dec.PeekKind()
	var e members
	var err error
	if kind == '{' {
		err = eachMember(dec, e.set)
	} else {
		_, err = dec.ReadValue()
	}
	if err == nil {
		if _, err = dec.ReadToken(); err == io.EOF {
			err = nil
		} else {
			err = errors.New("more than one value")
		}
	}
	switch {
	case err != nil:
		return Message{}, &SyntaxError{Err: err}
	case kind == '[':
		return Message{}, &FormError{Why: "a batch, which this protocol does not have: send its messages one by one"}
	case kind != '{':
		return Message{}, &FormError{Why: "not an object"}
	}
	m, why := e.message()
	if why != "" {
		return Message{}, &FormError{ID: m.ID, Why: why}
	}
	return m, nil
}

// decoder reads b, which it neither copies nor changes. Names are not checked for duplicates below
// the outermost object, where that costs a set for each object.
func decoder(b []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true))
}

// eachMember calls set for each member of the object that dec is at, until it returns false.
func eachMember(dec *jsontext.Decoder, set func(name string, value jsontext.Value) bool) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if !set(key, value) {
			return nil
		}
	}
	_, err := dec.ReadToken()
	return err
}

// members are the values of those members of a message that memberNames names, in its order.
type members struct {
	values [6]jsontext.Value
	twice  string // a member that came twice
}

var memberNames = []string{"jsonrpc", "id", "method", "params", "result", "error"}

func (e *members) set(name string, value jsontext.Value) bool {
	if i := slices.Index(memberNames, name); i >= 0 {
		if e.values[i] != nil {
			e.twice = name
		}
		e.values[i] = value
	}
	return true
}

// message returns the message, and what is wrong with it; "" for nothing.
func (e *members) message() (m Message, why string) {
	version, id, method := e.values[0], e.values[1], e.values[2]
	m = Message{Params: e.values[3], Result: e.values[4], Failure: e.values[5]}
	if answerable(id.Kind()) {
		m.ID = ID(id)
	}
	if method.Kind() == '"' {
		text, _ := jsontext.AppendUnquote(nil, method) // it is valid
		m.Method, m.named = string(text), true
	}
	answer := m.Result != nil || m.Failure != nil
	switch {
	case e.twice != "":
		why = fmt.Sprintf("member %q comes twice", e.twice)
	case string(version) != `"2.0"`:
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

func answerable(k jsontext.Kind) bool { return k == '"' || k == '0' }

// FindID returns the id of the message that begins with head: the top-level member "id", if the
// whole of it stands in head and it is a number or a string.
func FindID(head []byte) (ID, bool) {
	dec := decoder(head)
	if dec.PeekKind() != '{' {
		return "", false
	}
	var id ID
	_ = eachMember(dec, func(name string, value jsontext.Value) bool { // head ends somewhere: that is no error
		whole := value.Kind() == '"' || dec.InputOffset() < int64(len(head)) // the digits may go on
		if name == "id" && answerable(value.Kind()) && whole {
			id = ID(value)
		}
		return name != "id"
	})
	return id, id != ""
}
