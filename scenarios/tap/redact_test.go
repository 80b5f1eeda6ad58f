package tap

import (
	"encoding/json"
	"testing"
)

func TestRedactKeepsStructureAndLengths(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"a call", `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"secret","n":-120.75,"ok":true,"none":null}}`,
			`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"secret","n":-100.00,"ok":true,"none":null}}`},
		{"what else has a name", `{"params":{"arguments":{"name":"secret"},"name":["a1"]},"method":"tools/call","result":{"name":"b2"}}`,
			`{"params":{"arguments":{"name":"xxxxxx"},"name":["xx"]},"method":"tools/call","result":{"name":"xx"}}`},
		{"the name of another method", `{"method":"m","params":{"name":"secret"}}`,
			`{"method":"m","params":{"name":"xxxxxx"}}`},
		{"an id further in is a value", `{"result":{"id":"abc","method":"x"},"id":"abc"}`,
			`{"result":{"id":"xxx","method":"x"},"id":"abc"}`},
		{"escapes", `{"a":"q\"\\\u00e9z"}`, `{"a":"xnnnu0000x"}`},
		{"lists of texts", `{"a":["x1",["y2"],{"b":"z3"}],"c":"d4"}`,
			`{"a":["xx",["xx"],{"b":"xx"}],"c":"xx"}`},
		{"revisions", `{"params":{"protocolVersion":"2025-11-25","n":"2025-11-25","_meta":{"io.modelcontextprotocol/protocolVersion": "2026-07-28"}},"result":{"supportedVersions":["2025-11-25","2026-07-28","secret"],"protocolVersion":"a secret"}}`,
			`{"params":{"protocolVersion":"2025-11-25","n":"xxxxxxxxxx","_meta":{"io.modelcontextprotocol/protocolVersion": "2026-07-28"}},"result":{"supportedVersions":["2025-11-25","2026-07-28","xxxxxx"],"protocolVersion":"xxxxxxxx"}}`},
		{"no JSON", `password=123 "abc`, `xxxxxxxxxxxxxxxxx`},
		{"JSON at first", `{"a":"b1","c":d2, "e"}`, `{"a":"xx","c"xxxxxxxxx`},
	} {
		b := []byte(row.text)
		changed := redact(b, methodIn(row.text))
		if row.name == "escapes" { // each escape stays one, of its length
			row.want = `{"a":"x\n\n\u0000x"}`
		}
		if string(b) != row.want {
			t.Errorf("%s: got %s, want %s", row.name, b, row.want)
		}
		if !changed || redact(b, methodIn(row.text)) {
			t.Errorf("%s: it does not say truly whether it changed something", row.name)
		}
		if json.Valid([]byte(row.text)) != json.Valid(b) {
			t.Errorf("%s: %s is JSON no more, or by now", row.name, b)
		}
	}
}

// methodIn returns the method that a text names, as a decoder does.
func methodIn(text string) string {
	var m struct{ Method string }
	_ = json.Unmarshal([]byte(text), &m)
	return m.Method
}

func FuzzRedact(f *testing.F) {
	f.Add(`{"a":[1,"b\n",{"c":-0.5e9}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		b := []byte(text)
		redact(b, "tools/call")
		if len(b) != len(text) || json.Valid([]byte(text)) && !json.Valid(b) {
			t.Errorf("%q became %q", text, b)
		}
	})
}
