package rpc

import (
	"encoding/json"
	"fmt"
)

// An Error is the error that an answer carries.
type Error struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"` // nil for none
}

func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// ParseError reads the member "error" of an answer. One that is not of JSON-RPC's form is kept as the data of an error with
// code 0.
func ParseError(text []byte) *Error {
	var e Error
	if err := json.Unmarshal(text, &e); err != nil {
		return &Error{Message: "the peer's error is not of the form {code, message}", Data: append(json.RawMessage(nil), text...)}
	}
	return &e
}
