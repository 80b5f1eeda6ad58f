package jsonrpc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// long is more than is kept.
var long = strings.Repeat("m", 300)

var rows = []struct {
	name, msg  string
	kind       jsonrpc.Kind
	id, method string
}{
	{"request", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":8,"method":"x"}}`, jsonrpc.Request, `7`, "tools/call"},
	{"id last, as the TypeScript SDK puts it", `{"result":{"id":1,"content":[{"text":"\"id\":9"}]},"jsonrpc":"2.0","id":12}`, jsonrpc.Result, `12`, ""},
	{"string id with an escape", `{"id":"a\"b","error":{"code":-32601}}`, jsonrpc.Failure, `"a\"b"`, ""},
	{"notification", `{"method":"notifications/progress","params":[1,2,{"id":3}]}`, jsonrpc.Notification, "", "notifications/progress"},
	{"null id is none", `{"id":null,"error":{}}`, jsonrpc.Failure, "", ""},
	{"space everywhere", " { \"id\" : 5 , \"method\" : \"m\" } ", jsonrpc.Request, "5", "m"},
	{"negative id", `{"id":-5,"result":null}`, jsonrpc.Result, "-5", ""},
	{"id that is an object is none", `{"id":{"a":1},"method":"m"}`, jsonrpc.Notification, "", "m"},
	{"last of two ids", `{"id":1,"id":2,"method":"m"}`, jsonrpc.Request, "2", "m"},
	{"braces inside a string", `{"result":"}]{[","id":3}`, jsonrpc.Result, "3", ""},
	{"backslash at the end of a string", `{"result":"\\","id":3}`, jsonrpc.Result, "3", ""},
	{"method cut at 128 bytes", `{"method":"` + long + `"}`, jsonrpc.Notification, "", long[:128]},
	{"id of 129 bytes is none", `{"id":"` + long[:127] + `","method":"m"}`, jsonrpc.Notification, "", "m"},
	{"id of 128 bytes", `{"id":"` + long[:126] + `","method":"m"}`, jsonrpc.Request, `"` + long[:126] + `"`, "m"},
	{"names alike", `{"ids":1,"methods":"n","i":2}`, jsonrpc.None, "", ""},
	{"no object", `"id"`, jsonrpc.None, "", ""},
	{"batch", `[{"id":1,"method":"m"}]`, jsonrpc.None, "", ""},
	{"log line", `listening on {"id":3,"method":"m"}`, jsonrpc.None, "", ""},
	{"quoted text first", `"quoted" {"id":3,"result":1}`, jsonrpc.None, "", ""},
	{"cut", `{"id":1,"method":"m"`, jsonrpc.None, "1", "m"},
	{"two objects", `{"id":1,"method":"m"}{"id":2}`, jsonrpc.Request, "1", "m"},
	{"nothing", ``, jsonrpc.None, "", ""},
	{"null", `null`, jsonrpc.None, "", ""},
	{"method that is no UTF-8", "{\"method\":\"a\xff\xfe\u00e9\"}", jsonrpc.Notification, "", "a\uFFFD\uFFFDé"},
	{"method cut within a character", `{"method":"` + long[:127] + `é"}`, jsonrpc.Notification, "", long[:127]},
	{"no value", `{"method":,"id":}`, jsonrpc.None, "", ""},
	{"closing brackets", `}}}]`, jsonrpc.None, "", ""},
}

func TestScanReadsTheOutermostObjectAlone(t *testing.T) {
	for _, row := range rows {
		e := jsonrpc.Scan([]byte(row.msg))
		if e.Kind() != row.kind || string(e.Method) != row.method || row.kind != jsonrpc.None && string(e.ID) != row.id {
			t.Errorf("%s: kind %d, id %s, method %s; want %d, %s, %s", row.name, e.Kind(), e.ID, e.Method, row.kind, row.id, row.method)
		}
	}
}

func TestScanningAllocatesNothing(t *testing.T) {
	msg := []byte(`{"jsonrpc":"2.0","id":"0123","method":"tools/call","params":{"message":"` + strings.Repeat(`x\n`, 4000) + `"}}`)
	if n := testing.AllocsPerRun(100, func() {
		if e := jsonrpc.Scan(msg); e.Kind() != jsonrpc.Request {
			t.Fatal("no request")
		}
	}); n != 0 {
		t.Errorf("%v allocations a message", n)
	}
}

// FuzzScan holds Scan against a decoder, on whatever is JSON.
func FuzzScan(f *testing.F) {
	for _, row := range rows {
		f.Add([]byte(row.msg))
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		e := jsonrpc.Scan(msg)
		var want struct {
			ID     json.RawMessage `json:"id"`
			Method *string         `json:"method"`
		}
		members := map[string]json.RawMessage{}
		if json.Unmarshal(msg, &members) != nil || members == nil || json.Unmarshal(msg, &want) != nil || len(members) != unambiguous(msg) {
			return
		}
		if e.End == 0 {
			t.Fatalf("%q is an object, and was not taken for one", msg)
		}
		if want.Method != nil && len(*want.Method) < 100 && !strings.Contains(string(msg), `\`) && *want.Method != string(e.Method) {
			t.Errorf("%q: method %q, want %q", msg, e.Method, *want.Method)
		}
	})
}

// unambiguous is how many members the object would have if none were there twice, escaped, or in
// another case; -1 if one is.
func unambiguous(msg []byte) int {
	d := json.NewDecoder(strings.NewReader(string(msg)))
	seen := map[string]bool{}
	depth, name := 0, false
	for {
		token, err := d.Token()
		if err != nil {
			return len(seen)
		}
		switch v := token.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth++
			} else {
				depth--
			}
			name = depth == 1
			continue
		case string:
			if depth == 1 && name {
				if lower := strings.ToLower(v); seen[lower] {
					return -1
				} else {
					seen[lower] = true
				}
				name = false
				continue
			}
		}
		name = depth == 1
	}
}

func ExampleScan() {
	e := jsonrpc.Scan([]byte(`{"result":{"id":1},"jsonrpc":"2.0","id":12}`))
	fmt.Println(e.Kind() == jsonrpc.Result, string(e.ID))
	// Output: true 12
}

func BenchmarkScan(b *testing.B) {
	for _, size := range []int{100, 1 << 20} {
		msg := []byte(`{"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]},"jsonrpc":"2.0","id":12}`)
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(msg)))
			b.ReportAllocs()
			for b.Loop() {
				jsonrpc.Scan(msg)
			}
		})
	}
}
