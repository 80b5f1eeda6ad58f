package main

import (
	"testing"

	"github.com/pipebench/pipebench/results"
)

// A reason for which several situations could not be judged is shown once.
func TestAReasonIsShownOnce(t *testing.T) {
	f := &checkFlags{reasons: map[string]string{}}
	for _, row := range []struct {
		name    string
		verdict results.Verdict
		found   string
		want    string
	}{
		{"ids", results.OK, "no echo", "ids: ok, no echo"},
		{"batch", results.CannotTell, "no echo", "batch: cannot tell, no echo"},
		{"cancel", results.CannotTell, "no echo", "cancel: cannot tell, as batch"},
		{"trickle", results.CannotTell, "late", "trickle: cannot tell, late"},
	} {
		found := results.Finding{
			ID: "check/server/" + row.name, Verdict: row.verdict, Found: row.found,
		}
		if got := f.noteOf(found); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}
