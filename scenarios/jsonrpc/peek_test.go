package jsonrpc_test

import (
	"bytes"
	"testing"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

func TestPeekReadsOpeningsAsProgramsWriteThem(t *testing.T) {
	for _, row := range []struct {
		name, opening, id, method string
		ok                        bool
	}{
		{"request", `{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"id":3`, "12", "tools/call", true},
		{"method first", `{"method":"m","id":"a-b","jsonrpc":"2.0"}`, `"a-b"`, "m", true},
		{"with spaces", `{"jsonrpc": "2.0", "id": 1, "method": "m", "params": {`, "1", "m", true},
		{"result", `{"jsonrpc":"2.0","id":7,"result":{"id":9`, "7", "", true},
		{"error", `{"id":7,"error":{`, "7", "", true},
		{"nothing behind", `{"id":7,"method":"m"}`, "7", "m", true},
		{"id behind the result", `{"result":{},"id":7`, "", "", false},
		{"notification", `{"jsonrpc":"2.0","method":"m","params":{}}`, "", "", false},
		{"parameters before the id", `{"method":"m","params":{"id":1},"id":2}`, "", "", false},
		{"escape in the method", `{"id":1,"method":"a\"b"}`, "", "", false},
		{"null id", `{"id":null,"method":"m"}`, "", "", false},
		{"negative id", `{"id":-1,"method":"m"}`, "", "", false},
		{"id that goes on", `{"method":"m","id":12`, "", "", false},
		{"id with a fraction", `{"method":"m","id":1.5}`, "", "", false},
		{"text behind an id", `{"id":"a"x,"method":"m"}`, "", "", false},
		{"batch", `[{"id":1,"method":"m"}]`, "", "", false},
		{"method that is not ASCII", `{"id":1,"method":"é"}`, "1", "é", true},
		{"method that is no UTF-8", "{\"id\":1,\"method\":\"\xc3\"}", "", "", false},
		{"a name alone", `{"id"`, "", "", false},
		{"an empty object", `{}`, "", "", false},
		{"nothing", ``, "", "", false},
	} {
		id, method, failed, ok := jsonrpc.Peek([]byte(row.opening))
		if ok != row.ok || ok && failed != (row.name == "error") || ok && (string(id) != row.id || string(method) != row.method) {
			t.Errorf("%s: got %q %q %v, want %q %q %v", row.name, id, method, ok, row.id, row.method, row.ok)
		}
	}
}

// FuzzPeek holds the quick way against the thorough one, which is given no more than the quick one
// needs.
func FuzzPeek(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{}}`))
	f.Add([]byte(`{"id": "x", "result": 1}`))
	f.Fuzz(func(t *testing.T, p []byte) {
		for n := range min(len(p), 256) + 1 {
			id, method, failed, ok := jsonrpc.Peek(p[:n])
			if !ok {
				continue
			}
			var s jsonrpc.Scanner
			s.Write(p[:n])
			if e := s.Envelope(); !bytes.Equal(e.ID, id) || !bytes.Equal(e.Method, method) || e.Error != failed {
				t.Errorf("%q: Peek found %q %q, the scanner %q %q", p[:n], id, method, e.ID, e.Method)
			}
			return
		}
	})
}
