package client_test

import (
	"testing"

	"github.com/pipebench/pipebench/scenarios/mcp/client"
)

func TestEveryLineIsARequestOrAnError(t *testing.T) {
	for _, row := range []struct {
		line, method string // the method is empty if the line is no request
	}{
		{"", ""},
		{"ping", "ping"},
		{"tools/list", "tools/list"},
		{`echo {"text":"a"}`, "tools/call"},
		{`echo {"text"`, ""},
		{`{"jsonrpc":"2.0","method":"ping"}`, "ping"},
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, ""},
	} {
		q, err := client.ParseRequest([]byte(row.line), 1)
		if (err == nil) != (row.method != "") || err == nil && q.Method != row.method {
			t.Errorf("%q: method %q, error %v; want method %q", row.line, q.Method, err, row.method)
		}
	}
}
