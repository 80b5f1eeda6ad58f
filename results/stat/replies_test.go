package stat

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipebench/pipebench/results"
)

func TestRepliesAreMatchedByID(t *testing.T) {
	message := func(run, dir, method, id string, at int64) results.Message {
		return results.Message{Run: run, Dir: dir, Method: method, ID: []byte(id), T: at}
	}
	got, unanswered := Replies([]results.Message{
		message("a", "request", "slow", "1", 10),
		message("a", "request", "fast", `"1"`, 20),
		message("b", "reply", "", "1", 25), // of another recording
		message("a", "reply", "", `"1"`, 30),
		message("a", "reply", "log", "1", 35), // a request of the server's own
		message("a", "reply", "", "1", 110),
		message("a", "reply", "", "1", 120), // answered already
		message("a", "request", "notify", "", 130),
		message("b", "request", "lost", "7", 140),
	})
	if len(unanswered) != 1 || unanswered[0].Method != "lost" {
		t.Errorf("unanswered are %v, want the one that was lost", unanswered)
	}
	want := map[string][]int64{"slow": {100}, "fast": {10}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
