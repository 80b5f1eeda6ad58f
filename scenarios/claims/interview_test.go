package claims

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe/leaktest"
	"github.com/pipebench/pipebench/syspipe/proc"
)

const (
	serverWork = "claims/test-server"
	mutedWork  = "claims/test-muted"
)

// serveLines answers each request on standard input with an empty result, and a line that is no
// JSON with an error, if it answers at all. It ends with its input, and at a header.
func serveLines(answers bool) error {
	in := framers.NDJSON().NewReader(os.Stdin)
	for {
		line, err := in.ReadMessage()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var m struct{ ID json.RawMessage }
		if bytes.HasPrefix(line, []byte("Content-Length")) {
			return nil
		}
		switch err := json.Unmarshal(line, &m); {
		case !answers || len(strings.TrimSpace(string(line))) == 0:
		case err != nil:
			fmt.Println(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}}`)
		case m.ID != nil:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
		}
	}
}

// talkTo interviews a server of this test.
func talkTo(t *testing.T, work string) map[string]any {
	t.Helper()
	leaktest.Check(t)
	said := make(map[string]any)
	i := &interviewer{command: []string{work}}
	i.start = func() (*proc.Process, error) { return proc.Self(work, nil) }
	i.found = func(f results.Finding) error {
		said[strings.TrimPrefix(f.ID, talk)] = f.Value
		return nil
	}
	if err := i.hold(t.Context()); err != nil {
		t.Fatal(err)
	}
	return said
}

func TestInterview(t *testing.T) {
	want := map[string]any{
		"newline": true, "content-length": false, "blank-line": true, "trailing-space": true,
		"malformed-line": true, "malformed-id": "null",
	}
	defer func(old silence) { patience = old }(patience)
	patience = silence{time.Minute, time.Minute, time.Minute}
	said := talkTo(t, serverWork)
	for name, value := range want {
		if said[name] != value {
			t.Errorf("%s: %v, want %v", name, said[name], value)
		}
	}
}

func TestInterviewOfOneThatIsSilent(t *testing.T) {
	defer func(old silence) { patience = old }(patience)
	patience = silence{time.Second / 10, time.Second / 10, time.Second / 10}
	said := talkTo(t, mutedWork)
	if said["newline"] != false || said["blank-line"] != false {
		t.Errorf("it says %v", said)
	}
}

func TestInterviewOfAProgramThatIsNotThere(t *testing.T) {
	err := interview(context.Background(), []string{"/no/such/program"},
		func(results.Finding) error { return nil })
	if err == nil {
		t.Error("no error")
	}
}
