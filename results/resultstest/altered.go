package resultstest

import (
	"encoding/json"
	"testing"

	"github.com/pipebench/pipebench/results"
)

// Altered returns evidence that a damaged or older file may hold in place of that of v: none at all, and
// the same with each of its values, however deep, in turn left out, empty, or absurd.
func Altered(t testing.TB, v any) []results.Evidence {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var whole any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	out := []results.Evidence{"", "{}"}
	alter(whole, func() {
		e, err := results.NewEvidence(whole)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	})
	return out
}

// alter changes each value below v in turn, calls keep, and restores it.
func alter(v any, keep func()) {
	try := func(old any, set func(any)) {
		for _, other := range []any{nil, 0, -1, 1e15, "", "?", true, []any{}, map[string]any{}} {
			set(other)
			keep()
		}
		set(old)
		alter(old, keep)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, old := range v {
			delete(v, name)
			keep()
			try(old, func(other any) { v[name] = other })
		}
	case []any:
		for i, old := range v {
			try(old, func(other any) { v[i] = other })
		}
	}
}
