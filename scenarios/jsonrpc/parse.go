package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// A Message is the envelope of a JSON-RPC message. Params, Result and Failure are JSON text; those that Parse returns are slices
// of its argument.
type Message struct {
	ID      ID
	Method  string
	Params  []byte
	Result  []byte
	Failure []byte // the member "error"
	named   bool   // whether there is a method
}

// Kind returns what m is.
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
	if kind := dec.PeekKind(); kind != '{' {
		return Message{}, notObject(dec, kind)
	}
	var e envelope
	if err := members(dec, e.take); err != nil {
		return Message{}, &SyntaxError{Err: err}
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return Message{}, &SyntaxError{Err: errors.New("more than one value")}
	}
	return e.message()
}

// decoder reads b, which it neither copies nor changes. Names are not checked for duplicates below the envelope, where
// that costs a set for each object.
func decoder(b []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true))
}

func notObject(dec *jsontext.Decoder, kind jsontext.Kind) error {
	if _, err := dec.ReadValue(); err != nil {
		return &SyntaxError{Err: err}
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return &SyntaxError{Err: errors.New("more than one value")}
	}
	if kind == '[' {
		return &FormError{Why: "a batch, which this protocol does not have: send its messages one by one"}
	}
	return &FormError{Why: "not an object"}
}

// members calls take for each member of the object that dec is at, until it returns false.
func members(dec *jsontext.Decoder, take func(name string, value jsontext.Value) bool) error {
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
		if !take(key, value) {
			return nil
		}
	}
	_, err := dec.ReadToken()
	return err
}

// An envelope collects the members of a message.
type envelope struct {
	m       Message
	version string
	idKind  jsontext.Kind // of the last member "id"; 0 if there was none
	method  jsontext.Kind
	twice   string // a member that came twice
	seen    [6]bool
}

// names are the members of an envelope.
var names = [...]string{"jsonrpc", "id", "method", "params", "result", "error"}

func (e *envelope) take(name string, value jsontext.Value) bool {
	for i, n := range names {
		if n == name {
			if e.seen[i] {
				e.twice = name
			}
			e.seen[i] = true
			e.set(name, value)
		}
	}
	return true
}

func (e *envelope) set(name string, value jsontext.Value) {
	switch name {
	case "jsonrpc":
		e.version = string(value)
	case "id":
		e.idKind = value.Kind()
		e.m.ID = ID(value)
	case "method":
		if e.method = value.Kind(); e.method == '"' {
			e.m.Method = text(value)
			e.m.named = true
		}
	case "params":
		e.m.Params = value
	case "result":
		e.m.Result = value
	case "error":
		e.m.Failure = value
	}
}

// text returns what a JSON string says; it is valid.
func text(value jsontext.Value) string {
	b, _ := jsontext.AppendUnquote(nil, value)
	return string(b)
}

// message judges what was collected.
func (e *envelope) message() (Message, error) {
	if e.idKind != 0 && !answerable(e.idKind) {
		e.m.ID = ""
	}
	if why := e.fault(); why != "" {
		return Message{}, &FormError{ID: e.m.ID, Why: why}
	}
	return e.m, nil
}

func (e *envelope) fault() string {
	answer := e.m.Result != nil || e.m.Failure != nil
	switch {
	case e.twice != "":
		return fmt.Sprintf("member %q comes twice", e.twice)
	case e.version != `"2.0"`:
		return `member "jsonrpc" is not "2.0"`
	case e.method != 0 && !e.m.named:
		return `member "method" is not a string`
	case e.m.named && e.idKind != 0 && e.m.ID == "":
		return `member "id" is neither a number nor a string`
	case !e.m.named && !answer:
		return `neither a method nor a result`
	case e.m.named && answer:
		return `both a method and a result`
	case !e.m.named && e.idKind == 0:
		return `a result without an id`
	}
	return ""
}

func answerable(k jsontext.Kind) bool { return k == '"' || k == '0' }

// FindID returns the id of the message that head is the beginning of: the top-level member "id", if the whole of it stands in
// head and it is a number or a string.
func FindID(head []byte) (ID, bool) {
	dec := decoder(head)
	if dec.PeekKind() != '{' {
		return "", false
	}
	var id ID
	_ = members(dec, func(name string, value jsontext.Value) bool { // head ends somewhere: that is no error
		whole := value.Kind() == '"' || dec.InputOffset() < int64(len(head)) // the digits may go on
		if name == "id" && answerable(value.Kind()) && whole {
			id = ID(value)
		}
		return name != "id"
	})
	return id, id != ""
}
