// Package evidencetest makes damaged evidence, for tests of the rules that judge it.
//
//	for _, e := range evidencetest.Altered(t, Found{Sent: 3}) {
//		judge(e) // must not panic
//	}
//
// It stands apart from other packages for tests because what those import is initialised by every
// worker that a test starts.
package evidencetest

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/pipebench/pipebench/results"
)

// Altered returns evidence that a damaged or older file may hold in place of that of v: none at
// all, and the same with each of its values, however deep, in turn left out, empty, or absurd.
func Altered(t testing.TB, v any) []results.Evidence {
	t.Helper()
	text, err := json.Marshal(v)
	var whole any
	if err == nil {
		err = json.Unmarshal(text, &whole)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := []results.Evidence{""}
	for _, v := range variants(whole) {
		if e, err := results.NewEvidence(v); err == nil { // else it is no object
			out = append(out, e)
		}
	}
	return out
}

// variants returns other values, and v with each value below it replaced by one of its variants.
func variants(v any) []any {
	out := []any{nil, 0, -1, 1e15, "", "?", true, []any{}, map[string]any{}}
	switch v := v.(type) {
	case map[string]any:
		for name, old := range v {
			fewer := maps.Clone(v)
			delete(fewer, name)
			out = append(out, fewer)
			for _, other := range variants(old) {
				changed := maps.Clone(v)
				changed[name] = other
				out = append(out, changed)
			}
		}
	case []any:
		for i, old := range v {
			for _, other := range variants(old) {
				changed := slices.Clone(v)
				changed[i] = other
				out = append(out, changed)
			}
		}
	}
	return out
}
