package jsonrpc

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

const prefix = `{"jsonrpc":"2.0"`

// AppendRequest appends a request to dst, or a notification if id is empty. params is JSON text without newlines, or nil for none.
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
	dst = append(append(append(dst, prefix...), `,"id":`...), id...)
	dst = append(append(dst, `,"result":`...), result...)
	return append(dst, '}')
}

// AppendError appends an answer that says that the request id failed.
func AppendError(dst []byte, id ID, e Error) []byte {
	dst = append(append(append(dst, prefix...), `,"id":`...), id...)
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, e.Code, 10)
	dst = append(dst, `,"message":`...)
	dst = appendString(dst, e.Message)
	if e.Data != nil {
		dst = append(append(dst, `,"data":`...), e.Data...)
	}
	return append(dst, '}', '}')
}

// AppendFailure appends an answer that says that the request id failed, in the JSON text of an error.
func AppendFailure(dst []byte, id ID, failure []byte) []byte {
	dst = append(append(append(dst, prefix...), `,"id":`...), id...)
	dst = append(append(dst, `,"error":`...), failure...)
	return append(dst, '}')
}

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, _ := json.Marshal(s) // a string marshals always
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
