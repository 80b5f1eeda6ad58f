package drive

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEachVerdictHasItsAdviceAndNoAdviceIsOfNone(t *testing.T) {
	used := map[string]bool{}
	for _, v := range []Verdict{
		Slow, ErrorReply, Unanswered, Deaf, Deadlock, Corrupt, Truncated, Buffered, Endless, Overloaded, Differs, CannotTell, Superlinear,
	} {
		used[string(v)] = true
		if v.Advice() == "" {
			t.Errorf("no advice for %q", v)
		}
	}
	for v, key := range map[Verdict]string{exitPrefix + "0": "exit 0", exitPrefix + "3": "exit", signalPrefix + "SIGKILL": "signal"} {
		used[key] = true
		if v.Advice() == "" || v.Advice() != advice()[key] {
			t.Errorf("advice for %q is %q", v, v.Advice())
		}
	}
	for v, key := range map[Verdict]string{
		exitPrefix + "3": "handshake ended", Corrupt: "handshake corrupt", ErrorReply: "handshake error reply", Deaf: "handshake deaf",
	} {
		used[key] = true
		if e := (&HandshakeError{Verdict: v}); e.Advice() == "" || e.Advice() != advice()[key] {
			t.Errorf("advice for %q in the handshake is %q", v, e.Advice())
		}
	}
	for key := range advice() {
		if key != "" && !used[key] {
			t.Errorf("the advice for %q is of no verdict", key)
		}
	}
	if OK.Advice() != "" {
		t.Error("advice where none is needed")
	}
}

func TestTheEditorIsWhole(t *testing.T) {
	e := theEditor()
	if !json.Valid(e.Capabilities) || strings.ContainsAny(string(e.Capabilities), "\n\t") {
		t.Errorf("capabilities %s: want JSON on one line", e.Capabilities)
	}
	for method, answer := range e.Answers {
		if !json.Valid(answer) || strings.ContainsAny(string(answer), "\n\t") {
			t.Errorf("answer to %s is %q: want JSON on one line", method, answer)
		}
	}
	for _, d := range e.Documents {
		if d.Language == "" || d.Suffix == "" || d.Before == "" || d.After == "" || d.Symbol == "" {
			t.Errorf("document %+v: want all of it", d)
		}
	}
	if len(e.Answers) != 14 || len(e.Documents) != 11 {
		t.Errorf("%d answers and %d documents: want 14 and 11", len(e.Answers), len(e.Documents))
	}
}
