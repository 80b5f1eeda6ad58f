package results_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipebench/pipebench/results"
)

func TestEvidenceIsAnObject(t *testing.T) {
	for _, v := range []any{[]int{1}, 3, "text", func() {}} {
		if e, err := results.NewEvidence(v); err == nil {
			t.Errorf("%v became %s", v, e)
		}
	}
	for _, text := range []string{`[1]`, `"text"`, `3`} {
		if err := json.Unmarshal([]byte(`{"evidence":`+text+`}`), &results.Finding{}); err == nil {
			t.Errorf("%s was read as evidence", text)
		}
	}
}

func TestEvidenceComesBackAsItWas(t *testing.T) {
	type found struct {
		Sent int    `json:"sent"`
		Why  string `json:"why"`
	}
	e := results.MustEvidence(found{3, "closed"})
	line, err := json.Marshal(results.Finding{ID: "x", Evidence: e})
	if err != nil {
		t.Fatal(err)
	}
	var f results.Finding
	if err := json.Unmarshal(line, &f); err != nil || f.Evidence != e {
		t.Fatalf("read back %s, %v; want %s", f.Evidence, err, e)
	}
	var got found
	if err := f.Evidence.Decode(&got); err != nil || got != (found{3, "closed"}) {
		t.Errorf("decoded %+v, %v", got, err)
	}
}

// What older versions wrote as a flat object is read into its parts, and written as it was.
func TestTargetEvidenceStaysFlat(t *testing.T) {
	for _, text := range []string{
		`{"evidence":{"spoken":"mcp 2025-06-18","request":"tools/call",` +
			`"why":"no answer","unsent":true,"payload_bytes":1000,` +
			`"inflight":8,"rate":0,"out_of_order":2}}`,
		`{"evidence":{"side":"reply","failed_at":9,"at_twice":"deaf"}}`,
		`{"evidence":{"slope":1.5,"slope_lo":1.25,"from":1,"to":2,"shows_at":0,"points":4}}`,
		`{"evidence":{"elapsed_ns":5,"request":{"bytes":1,"reads":2,"messages":3,"stalled_ns":4},` +
			`"reply":{"bytes":5,"reads":6,"messages":7,"stalled_ns":8}}}`,
		`{}`,
	} {
		var got struct {
			Evidence results.TargetEvidence `json:"evidence,omitzero"`
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var was, is map[string]any
		err = errors.Join(json.Unmarshal([]byte(text), &was), json.Unmarshal(again, &is))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(was, is); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	}
}
