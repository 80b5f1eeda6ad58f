package target

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

func TestAnErrorIsReturnedAsOne(t *testing.T) {
	var result string
	refused := []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`)
	err := decode(child.Message{Raw: refused}, &result)
	refusal, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || refusal.Code != jsonrpc.CodeMethodNotFound {
		t.Errorf("err = %v", err)
	}
	answered := []byte(`{"jsonrpc":"2.0","id":1,"result":"yes","error":null}`)
	if err := decode(child.Message{Raw: answered}, &result); err != nil || result != "yes" {
		t.Errorf("result %q, %v", result, err)
	}
}

// No tool is called unasked, unless it is named "echo". One that could be is named.
func TestAToolThatIsNotCalledIsNamed(t *testing.T) {
	const text = `"inputSchema":{"properties":{"text":{"type":"string"}}}`
	for list, want := range map[string]string{
		`[{"name":"now"},{"name":"shout",` + text + `}]`: "no tool is called unasked: " +
			"--tool shout",
		`[{"name":"my_echo",` + text + `}]`: "--tool my_echo may echo",
		`[{"name":"now"}]`:                  "",
	} {
		var tools []tool
		if err := json.Unmarshal([]byte(list), &tools); err != nil {
			t.Fatal(err)
		}
		m := &mcp{}
		m.hintAt(tools)
		if got := strings.Join(m.Hints, "; "); got != want {
			t.Errorf("%s: hints %q, want %q", list, got, want)
		}
	}
}
