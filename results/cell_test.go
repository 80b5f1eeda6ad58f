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
	const always = "capacity=65536 framing=ndjson io=blocking pattern=stream payload=json " +
		"pipe=anonymous placement=same size=256"
	if got := c.Key(); got != always {
		t.Errorf("got %q, want %q", got, always)
	}
	c.Rate, c.Inflight = 2e6, 4
	const more = "capacity=65536 framing=ndjson inflight=4 io=blocking pattern=stream " +
		"payload=json pipe=anonymous placement=same rate=2000000 size=256"
	if got := c.Key(); got != more {
		t.Errorf("got %q, want %q", got, more)
	}
}

// with is a cell with the fields that every cell has.
func with(c results.Cell) results.Cell {
	usual := resultstest.Cell("raw", 0)
	c.Framing, c.Pipe, c.IO = usual.Framing, usual.Pipe, usual.IO
	c.Placement, c.Pattern, c.Payload = usual.Placement, usual.Pattern, usual.Payload
	return c
}

// The key and the file must never disagree on which fields there are.
func TestFieldsMatchTheJSON(t *testing.T) {
	for _, c := range []results.Cell{resultstest.Cell("raw", 0),
		with(results.Cell{Inflight: 1, Rate: 0.5, Transfer: "splice", ReadBuffer: 1, Batch: 2,
			Drain: 3, Messages: "h"}),
		with(results.Cell{WriteSize: 8192, Work: 0.25, PayloadOffset: "0", ReadOffset: "64",
			Source: "fresh", Touch: true, ClosesAfter: 3})} {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var inFile map[string]json.RawMessage
		if err := json.Unmarshal(text, &inFile); err != nil {
			t.Fatal(err)
		}
		fields := c.Values()
		if len(fields) != len(inFile) {
			t.Errorf("%s: %d fields in the key, %d in the file", text, len(fields), len(inFile))
		}
		for _, f := range fields {
			if got := strings.Trim(string(inFile[f.Name]), `"`); got != f.Text {
				t.Errorf("%s: %s is %q in the key, %q in the file", text, f.Name, f.Text, got)
			}
		}
	}
}
