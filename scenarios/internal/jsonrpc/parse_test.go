package jsonrpc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

func ExampleParse() {
	m, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":"a","method":"ping"}`))
	fmt.Println(m.ID, m.Method, m.Kind() == jsonrpc.Request, err)
	// Output: "a" ping true <nil>
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, line string
		kind       jsonrpc.Kind
		id         jsonrpc.ID
		method     string
		params     string
	}{
		{"request", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1]}}`, jsonrpc.Request, `1`, "m", `{"a":[1]}`},
		{"members in any order", `{"params":[],"method":"m","id":"x","jsonrpc":"2.0"}`, jsonrpc.Request, `"x"`, "m", `[]`},
		{"a number keeps its text", `{"jsonrpc":"2.0","id":9007199254740993.50,"method":"m"}`, jsonrpc.Request, `9007199254740993.50`, "m", ""},
		{"notification", `{"jsonrpc":"2.0","method":"m"}`, jsonrpc.Notification, "", "m", ""},
		{"null params", `{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, jsonrpc.Request, `1`, "m", `null`},
		{"other members are ignored", `{"jsonrpc":"2.0","ID":7,"id":1,"method":"m","x":{"id":3}}`, jsonrpc.Request, `1`, "m", ""},
		{"result", `{"jsonrpc":"2.0","id":1,"result":null}`, jsonrpc.Result, `1`, "", ""},
		{"error without an id that is known", `{"jsonrpc":"2.0","id":null,"error":{}}`, jsonrpc.Failure, "", "", ""},
		{"empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, jsonrpc.Request, `1`, "", ""},
		{"escaped method", `{"jsonrpc":"2.0","id":1,"method":"a\u0062"}`, jsonrpc.Request, `1`, "ab", ""},
		{"half a surrogate pair", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"t":"\ud83d"}}`, jsonrpc.Request, `1`, "m", `{"t":"\ud83d"}`},
		{"newlines inside strings", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"t":"a\n\nb"}}`, jsonrpc.Request, `1`, "m", `{"t":"a\n\nb"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := jsonrpc.Parse([]byte(test.line))
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(m.Kind(), m.ID, m.Method, string(m.Params))
			if want := fmt.Sprint(test.kind, test.id, test.method, test.params); got != want {
				t.Errorf("Parse(%s): got %s, want %s", test.line, got, want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, line string
		syntax     bool
		id         jsonrpc.ID
	}{
		{"text", `Server started`, true, ""},
		{"missing quotes", `{jsonrpc:"2.0"}`, true, ""},
		{"truncated", `{"jsonrpc":"2.0","id":1,"method":"m"`, true, ""},
		{"truncated below", `{"jsonrpc":"2.0","id":1,"params":{"a":`, true, ""},
		{"two on a line", `{"jsonrpc":"2.0","id":1,"method":"m"}{}`, true, ""},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", true, ""},
		{"invalid UTF-8 below", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":\"\xc3\"}}", true, ""},
		{"NULs", strings.Repeat("\x00", 64), true, ""},
		{"too deep", `{"jsonrpc":"2.0","id":1,"method":"m","params":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, true, ""},
		{"number", `42`, false, ""},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"m"}]`, false, ""},
		{"no version", `{"id":1,"method":"m"}`, false, `1`},
		{"other version", `{"jsonrpc":"1.0","id":"a","method":"m"}`, false, `"a"`},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"m"}`, false, ""},
		{"id object", `{"jsonrpc":"2.0","id":{},"method":"m"}`, false, ""},
		{"id twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`, false, `2`},
		{"method number", `{"jsonrpc":"2.0","id":1,"method":3}`, false, `1`},
		{"neither", `{"jsonrpc":"2.0","id":1}`, false, `1`},
		{"both", `{"jsonrpc":"2.0","id":1,"method":"m","result":1}`, false, `1`},
		{"result for nobody", `{"jsonrpc":"2.0","result":1}`, false, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := jsonrpc.Parse([]byte(test.line))
			form, isForm := errors.AsType[*jsonrpc.FormError](err)
			saysSyntax := err != nil && strings.Contains(err.Error(), "not JSON")
			switch {
			case test.syntax && (!saysSyntax || isForm):
				t.Errorf("got %v, want a syntax error", err)
			case !test.syntax && !isForm:
				t.Errorf("got %v, want a form error", err)
			case !test.syntax && form.ID != test.id:
				t.Errorf("got id %q, want %q", form.ID, test.id)
			}
		})
	}
}

func TestFindID(t *testing.T) {
	tests := []struct {
		name, head string
		id         jsonrpc.ID
	}{
		{"number", `{"jsonrpc":"2.0","id":17,"method":"m","params":{"pad":"xxx`, `17`},
		{"string", `{"jsonrpc":"2.0","id":"a b","method":"m","params":{"pad":"xxx`, `"a b"`},
		{"after complete params", `{"params":{"id":5},"id":6,"x":"`, `6`},
		{"nested only", `{"params":{"id":5,"pad":"xxxx`, ``},
		{"later than head", `{"jsonrpc":"2.0","params":{"pad":"xxxx`, ``},
		{"cut in a number", `{"jsonrpc":"2.0","id":12`, ``},
		{"cut in a string", `{"jsonrpc":"2.0","id":"ab`, ``},
		{"cut behind a string", `{"jsonrpc":"2.0","id":"ab"`, `"ab"`},
		{"cut behind the name", `{"jsonrpc":"2.0","id":`, ``},
		{"null", `{"id":null,"x":"`, ``},
		{"object", `{"id":{"id":1},"x":"`, ``},
		{"not an object", `[{"id":1}`, ``},
		{"not JSON", `id: 5`, ``},
		{"empty", ``, ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			id, ok := jsonrpc.FindID([]byte(test.head))
			if id != test.id || ok != (test.id != "") {
				t.Errorf("FindID(%s): got %q, %v, want %q", test.head, id, ok, test.id)
			}
		})
	}
}

func TestAppend(t *testing.T) {
	tests := []struct {
		name, got, want string
	}{
		{"request", string(jsonrpc.AppendRequest(nil, "1", "m", []byte(`{}`))), `{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`},
		{"notification", string(jsonrpc.AppendRequest(nil, "", "n", nil)), `{"jsonrpc":"2.0","method":"n"}`},
		{"escapes", string(jsonrpc.AppendRequest(nil, "", "a\"\n", nil)), `{"jsonrpc":"2.0","method":"a\"\n"}`},
		{"result", string(jsonrpc.AppendResult(nil, `"a"`, []byte(`1`))), `{"jsonrpc":"2.0","id":"a","result":1}`},
		{"error", string(jsonrpc.AppendError(nil, jsonrpc.Null, jsonrpc.Error{Code: -1, Message: "é", Data: []byte(`2`)})), `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"é","data":2}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.got != test.want {
				t.Errorf("got %s, want %s", test.got, test.want)
			}
		})
	}
}

func TestParseError(t *testing.T) {
	got := jsonrpc.ParseError([]byte(`{"code":-32000,"message":"no","data":{"a":1}}`))
	if diff := cmp.Diff(&jsonrpc.Error{Code: -32000, Message: "no", Data: json.RawMessage(`{"a":1}`)}, got); diff != "" {
		t.Error(diff)
	}
	if odd := jsonrpc.ParseError([]byte(`"no"`)); string(odd.Data) != `"no"` {
		t.Errorf("got %+v, want the text as data", odd)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1]}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"x","error":{"code":1}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := jsonrpc.Parse(line)
		if err != nil || m.Kind().Answers() {
			return
		}
		if !json.Valid(line) {
			t.Fatalf("%q is not JSON", line)
		}
		again, err := jsonrpc.Parse(jsonrpc.AppendRequest(nil, m.ID, m.Method, m.Params))
		if err != nil || again.ID != m.ID || again.Method != m.Method || string(again.Params) != string(m.Params) {
			t.Fatalf("%q: got %+v, %v, want %+v", line, again, err, m)
		}
	})
}
