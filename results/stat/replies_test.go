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
	messages := []results.Message{
		message("a", "request", "slow", "1", 10),
		message("a", "request", "fast", `"1"`, 20),
		message("b", "reply", "", "1", 25), // of another recording
		message("a", "reply", "", `"1"`, 30),
		message("a", "reply", "log", "1", 35), // a request of the server's own
		message("a", "reply", "", "1", 110),
		message("a", "reply", "", "1", 120), // answered already
		message("a", "request", "notify", "", 130),
		message("b", "request", "lost", "7", 140),
		message("a", "reply", "", "8", 1_000_150), // before the write of its request has returned
		{Run: "a", Dir: "request", Method: "stalled", ID: []byte("8"), T: 1_000_200, Stall: 120},
		message("a", "reply", "", "9", 2_000_000), // answers something else
		message("a", "request", "notify", "", 2_500_000),
		message("a", "request", "lost", "9", 3_000_000),
		// a busy machine: the relay came to record the request 20 ms after the reply
		message("a", "reply", "", "11", 3_100_000),
		message("a", "request", "late", "11", 23_100_000),
		// one write of two messages waited: the server answered the second before it returned
		message("a", "reply", "", "10", 24_000_000),
		{Run: "a", Dir: "request", Method: "notify", T: 29_000_000, Stall: 6_000_000},
		message("a", "request", "stalled", "10", 29_000_000),
	}
	for _, c := range Calls(messages) {
		if c.Answered == (c.Request.Method == "lost") {
			t.Errorf("%s: answered is %v", c.Request.Method, c.Answered)
		}
	}
	want := map[string][]int64{"slow": {100}, "fast": {10}, "stalled": {70, 1_000_000},
		"late": {0}}
	if d := cmp.Diff(want, Replies(messages)); d != "" {
		t.Error(d)
	}
}

// Both sides may use the same id, and the record of an answer may come first here, too.
func TestRequestsOfTheServerAreMatchedByID(t *testing.T) {
	var messages []results.Message
	add := func(dir, method, id string, at int64) {
		m := results.Message{Run: "a", Dir: dir, Method: method, ID: []byte(id), T: at}
		messages = append(messages, m)
	}
	add("request", "hover", "1", 10)
	add("reply", "lost", "1", 20)
	add("reply", "", "1", 30)
	add("reply", "configuration", `"c"`, 40)
	add("request", "", `"c"`, 50)
	add("request", "", "2", 60)
	add("reply", "early", "2", 70)
	add("reply", "notification", "", 80)
	var got []string
	for _, c := range ServerCalls(messages) {
		got = append(got, c.Request.Method)
		if c.Answered == (c.Request.Method == "lost") {
			t.Errorf("%s: answered is %v", c.Request.Method, c.Answered)
		}
	}
	if d := cmp.Diff([]string{"lost", "configuration", "early"}, got); d != "" {
		t.Error(d)
	}
}
