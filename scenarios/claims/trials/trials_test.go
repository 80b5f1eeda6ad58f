package trials

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
	"github.com/pipebench/pipebench/scenarios/experiment"
	"github.com/pipebench/pipebench/syspipe/leaktest"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// evidence makes the experiment of that ID and returns what it found.
func evidence(t *testing.T, id string) map[string]results.Finding {
	t.Helper()
	leaktest.Check(t)
	found := make(map[string]results.Finding)
	for _, e := range All() {
		if e.ID != id {
			continue
		}
		e.Limit = time.Minute
		err := experiment.Run(t.Context(), Work, e, func(f results.Finding) error {
			found[f.ID] = f
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// Each policy does what its document says of it. The limits of both ends are those of its example.
func TestClientsOfAnOversizedAnswer(t *testing.T) {
	for policy, want := range map[string]Oversize{
		"unlimited": {Next: true, ID: "null"},
		"close":     {ID: "null", Sees: "a broken pipe"},
		"answer":    {ID: "2", Sees: "an error response"},
		"negotiate": {ID: "2", Next: true, Sees: "the limit of 8388608 bytes"},
	} {
		id := "trial/oversize/" + policy
		var got Oversize
		if err := evidence(t, id)[id].Evidence.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if got.Next != want.Next || got.ID != want.ID || !strings.Contains(got.Sees, want.Sees) {
			t.Errorf("%s: %+v", policy, got)
		}
		if sees := policy == "close" || policy == "answer"; sees != (got.Read > FrameLimit) {
			t.Errorf("%s: knew after %d bytes", policy, got.Read)
		}
	}
}

func TestTheReaderAsPrinted(t *testing.T) {
	lines, tooLarge := printedLines(strings.NewReader(" a \n\n\xff\nb\nlast"))
	if fmt.Sprintf("%s", lines) != "[a b]" || tooLarge != 1 {
		t.Errorf("%q, %d too large", lines, tooLarge)
	}
}

const (
	serverWork = "trials/test-server"
	mutedWork  = "trials/test-muted"
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
	i := &interview{command: []string{work}}
	i.start = func() (*proc.Process, error) { return proc.Self(work, nil) }
	i.found = func(f results.Finding) error {
		said[strings.TrimPrefix(f.ID, "check/talk/")] = f.Value
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
	if n, _ := said["longest-line"].(int); n < 30 {
		t.Errorf("longest line: %v", said["longest-line"])
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
	err := Interview(context.Background(), []string{"/no/such/program"},
		func(results.Finding) error { return nil })
	if err == nil {
		t.Error("no error")
	}
}
