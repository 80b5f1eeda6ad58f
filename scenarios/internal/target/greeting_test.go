package target

import (
	"errors"
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
