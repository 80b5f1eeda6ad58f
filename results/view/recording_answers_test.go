package view

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
)

// A conversation is a recording of messages in short: "1 call" is a request of the client with the
// id 1, and "1" alone is the server's answer to it.
func conversation(messages ...string) *results.Set {
	set := &results.Set{
		Targets: []results.Target{
			lspServer(results.DirectionTraffic{EndedNS: 9e9}, results.DirectionTraffic{}),
		},
	}
	for i, text := range messages {
		id, method, asks := strings.Cut(text, " ")
		m := results.Message{Dir: "reply", T: int64(i + 1), Size: 9, ID: []byte(id)}
		if asks {
			m.Dir = "request"
			m.Method = method
		}
		set.Messages = append(set.Messages, m)
	}
	return set
}

// An answer to no request, and a second answer, come before the request that got none.
func TestExtraAnswersAreNamedFirst(t *testing.T) {
	const unknown = "1 answer to an id that no request had: "
	for _, tt := range []struct {
		name     string
		messages []string
		want     string // the first sentence; "" if there is no extra answer
	}{
		{"another id", []string{"1 a", "1", "2 b", "99"}, unknown + "99."},
		{"another type", []string{"1 a", `"1"`}, unknown +
			`"1" (a text; the request had the number 1).`},
		{"twice", []string{"1 a", "1", "1", "2 b", "2"}, "1 request answered more than once: " +
			"a (id 1)."},
		{"thrice", []string{"1 a", "1", "1", "1"}, "1 request answered more than once: a (id 1)."},
		{"an id that is used again", []string{"1 a", "1", "1 b", "1"}, ""},
		{"an id that is used twice at once", []string{"1 a", "1 b", "1", "1"}, ""},
		{"recorded before its request", []string{"1 a", "2", "2 b", "1"}, ""},
		{"a batch", []string{" ", "1", "2"}, ""},
		{"a large message whose id stands at its end", []string{" large", "1"}, ""},
	} {
		set := conversation(tt.messages...)
		if strings.HasSuffix(tt.messages[0], "large") {
			set.Messages[0].Size = 3 << 20
		}
		first := recordingSummary(set, "")[0]
		isExtra := strings.HasPrefix(first, unknown) || strings.Contains(first, "more than once")
		if isExtra != (tt.want != "") || isExtra && first != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, first, tt.want)
		}
	}
	set := conversation("1 a", "1", "1")
	set.Findings = []results.Finding{{ID: "failure/recording-gap"}}
	if first := recordingSummary(set, "")[0]; !strings.HasPrefix(first, "Slowest") {
		t.Errorf("with a gap: got %q", first)
	}
}

// The pipes of pipebench tap take what a usual pipe does not, so a hang may not be recorded.
func TestWhatTheLargerPipesOfTapMayHideIsSaid(t *testing.T) {
	const says = "Messages above 64 KiB went both ways: the larger pipes of pipebench tap may hide"
	for _, tt := range []struct {
		messages      []string
		request, back int64
		want          bool
	}{
		{[]string{"1 a", "1"}, 70_000, 70_000, true},
		{[]string{"1 a", "1"}, 70_000, 60_000, false},
		{[]string{"1 a", "1"}, 60_000, 70_000, false},
		{[]string{"1 a", "1", "2 b"}, 70_000, 70_000, false}, // something else is known
	} {
		set := conversation(tt.messages...)
		set.Messages[0].Size = tt.request
		set.Messages[1].Size = tt.back
		said := strings.HasPrefix(recordingSummary(set, "")[0], says)
		if said != tt.want {
			t.Errorf("%+v: %q", tt, recordingSummary(set, ""))
		}
	}
}
