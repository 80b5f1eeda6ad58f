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
	if e.idKind != 0 && !answerable(e.idKind) {
		e.m.ID = ""
	}
	if why := e.fault(); why != "" {
		return Message{}, &FormError{ID: e.m.ID, Why: why}
	}
	return e.m, nil
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

// members collects the members of a message.
type members struct {
	m       Message
	version string
	idKind  jsontext.Kind // of the last member "id"; 0 if there was none
	method  jsontext.Kind
	seen    uint   // a bit for each of memberNames
	twice   string // a member that came twice
}

var memberNames = []string{"jsonrpc", "id", "method", "params", "result", "error"}

func (e *members) set(name string, value jsontext.Value) bool {
	i := slices.Index(memberNames, name)
	if i < 0 {
		return true
	}
	if e.seen&(1<<i) != 0 {
		e.twice = name
	}
	e.seen |= 1 << i
	switch name {
	case "jsonrpc":
		e.version = string(value)
	case "id":
		e.idKind = value.Kind()
		e.m.ID = ID(value)
	case "method":
		if e.method = value.Kind(); e.method == '"' {
			text, _ := jsontext.AppendUnquote(nil, value) // it is valid
			e.m.Method, e.m.named = string(text), true
		}
	case "params":
		e.m.Params = value
	case "result":
		e.m.Result = value
	case "error":
		e.m.Failure = value
	}
	return true
}

// fault returns what is wrong with the message; "" for nothing.
func (e *members) fault() string {
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
