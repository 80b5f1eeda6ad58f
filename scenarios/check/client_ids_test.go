package check

import (
	"testing"

	"github.com/pipebench/pipebench/results"
)

func TestIDsAreStringsOrIntegers(t *testing.T) {
	for id, ok := range map[string]bool{
		`1`: true, `"a"`: true, `-7`: true, `1.0`: true, `1e2`: true, `1.5`: false, `15e-1`: false,
	} {
		request := results.Message{
			Dir:  "request",
			Body: `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`,
		}
		if wrong := breaksMessages([]results.Message{request}); (wrong == "") != ok {
			t.Errorf("a client with the id %s: %q", id, wrong)
		}
	}
}

// A client that answers its server may use the id of that answer for a request of its own.
func TestAnAnswerUsesNoID(t *testing.T) {
	session := []results.Message{
		{Dir: "request", Body: `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{Dir: "request", Body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
	}
	if wrong := breaksMessages(session); wrong != "" {
		t.Error(wrong)
	}
}
