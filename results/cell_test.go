package results_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

func TestKeyIsWhatStandsInTheFile(t *testing.T) {
	c := resultstest.Cell("ndjson", 256)
	const always = "capacity=65536 framing=ndjson io=blocking pattern=stream payload=json peer=process pipe=anonymous placement=same size=256"
	if got := c.Key(); got != always {
		t.Errorf("got %q, want %q", got, always)
	}
	c.Rate, c.Inflight = 2e6, 4
	const more = "capacity=65536 framing=ndjson inflight=4 io=blocking pattern=stream payload=json peer=process pipe=anonymous placement=same rate=2000000 size=256"
	if got := c.Key(); got != more {
		t.Errorf("got %q, want %q", got, more)
	}
}

// The key and the file must never disagree on which fields there are.
func TestFieldsMatchTheJSON(t *testing.T) {
	for _, c := range []results.Cell{{}, resultstest.Cell("raw", 0), {Inflight: 1, Rate: 0.5, Transfer: "splice", ReadBuffer: 1, Batch: 2, Drain: 3, Messages: "h", Sender: "wait=1ms"}} {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var inFile map[string]json.RawMessage
		if err := json.Unmarshal(text, &inFile); err != nil {
			t.Fatal(err)
		}
		fields := c.Fields()
		if len(fields) != len(inFile) {
			t.Errorf("%s: %d fields in the key, %d in the file", text, len(fields), len(inFile))
		}
		for _, f := range fields {
			if got := strings.Trim(string(inFile[f.Name]), `"`); got != f.Value {
				t.Errorf("%s: %s is %q in the key, %q in the file", text, f.Name, f.Value, got)
			}
		}
	}
}
