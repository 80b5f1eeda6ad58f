package target

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
)

func TestEachVerdictHasItsAdvice(t *testing.T) {
	for _, v := range []Verdict{
		Slow, ErrorReply, Unanswered, Deaf, Deadlock, Corrupt, Truncated, Buffered, Endless,
		Overloaded, Differs, CannotTell, Superlinear, "exit 0", "exit 3", "signal SIGKILL",
	} {
		if v.Advice() == "" {
			t.Errorf("no advice for %q", v)
		}
		handshake := HandshakeError{Verdict: v}
		if handshake.Advice() == "" {
			t.Errorf("no advice for %q in the handshake", v)
		}
	}
	if OK.Advice() != "" {
		t.Error("advice where none is needed")
	}
	silent := HandshakeError{Verdict: Buffered, fellSilent: true}
	if !strings.Contains(silent.Advice(), "flush after each answer") {
		t.Errorf("of answers that come at the end of the input: %s", silent.Advice())
	}
	for _, advice := range []string{(&HandshakeError{Verdict: Deaf}).Advice(), Late.Advice()} {
		if strings.Contains(advice, "ython") {
			t.Errorf("the server may be of another language: %s", advice)
		}
	}
	busy := Outcome{Verdict: Deaf, Evidence: &results.FailureEvidence{Computed: true}}
	if !strings.HasPrefix(busy.Advice(""), "it computed all that time: ") {
		t.Errorf("of a server that computes: %s", busy.Advice(""))
	}
}

// No server ends over the size of a small message, unless a search for a limit says so.
func TestTheSizeOfASmallMessageIsNotBlamed(t *testing.T) {
	for accepted, blames := range map[int64]bool{150: false, 4095: false, 4096: true} {
		ended := Outcome{Verdict: "exit 1", accepted: accepted}
		if advice := ended.Advice(""); strings.Contains(advice, "by size") != blames {
			t.Errorf("%d bytes: %s", accepted, advice)
		}
	}
}

func TestTheEditorIsWhole(t *testing.T) {
	if !json.Valid([]byte(editorCapabilities)) || strings.ContainsAny(editorCapabilities, "\n\t") {
		t.Errorf("capabilities %s: want JSON on one line", editorCapabilities)
	}
	for method, answer := range editorAnswers {
		if !json.Valid(answer) {
			t.Errorf("answer to %s is %q: want JSON", method, answer)
		}
	}
	if len(editorAnswers) != 14 || len(Languages()) != 11 {
		t.Errorf("%d answers and %d languages: want 14 and 11", len(editorAnswers),
			len(Languages()))
	}
}
