package target

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// A limit of a tool cuts a text and may say so. Other differences are damage.
func TestATextThatWasCutOnPurposeIsTruncated(t *testing.T) {
	t.Parallel()
	r := newRequest("", "", 50_000)
	sent := string(r.Number(7))
	wide := r.WithCharacters(0).msg
	got := compare(wide, bytes.Replace(wide, []byte("😀"), []byte("?"), 1))
	if got.Verdict != Corrupt {
		t.Errorf("a lost character: %s: %q", got.Verdict, got.Why)
	}
	for _, row := range []struct {
		text, why string
		verdict   Verdict
	}{
		{sent, "", OK},
		{sent[:20_000], "the answer holds the first 20,000 of 50,000 bytes", Truncated},
		{sent[:20_000] + "... [truncated]",
			`first 20,000 of 50,000 bytes came back, then "... [truncated]", which was not sent`,
			Truncated},
		{sent[:20_000] + "…", `came back, then "…"`, Truncated},
		{sent[:20_000] + " [29 kB cut] " + sent[49_000:], `then " [29 kB cut] "`, Truncated},
		{sent[:20_000] + sent[21_000:], "came back as", Corrupt},
		{sent[:49_999] + "... [truncated]", `then "... [truncated]"`, Truncated},
		{sent[:20_000] + "?" + sent[20_001:], `came back as "?`, Corrupt},
		{sent[:20_000] + "{\"id\":8}" + sent[20_000:], "came back as", Corrupt},
		{sent[:20_000] + strings.Repeat("#", 2000), "came back as", Corrupt},
	} {
		got := compare([]byte(sent), []byte(row.text))
		if got.Verdict != row.verdict || !strings.Contains(got.Why, row.why) {
			t.Errorf("%s: %q; want %s: %q", got.Verdict, got.Why, row.verdict, row.why)
		}
	}
}

// An answer with the text of another request is no damage to bytes.
func TestAnAnswerToAnotherRequestIsNamed(t *testing.T) {
	t.Parallel()
	r := newRequest(`{"id":`+idMark+`,"text":"`, `"}`, 1000)
	r.Echoes = true
	reply := `{"result":{"content":[{"type":"text","text":"` + string(payloadOf(r, 7)) + `"}]}}`
	r.Number(8)
	out := r.explain([]byte(reply))
	out.Evidence = new(results.FailureEvidence)
	const says = "it has the text of request 7, and answers request 8; "
	if out.Verdict != Corrupt || out.Advice("") != says+adviceOnText {
		t.Errorf("%s: %s", out.Verdict, out.Advice(""))
	}
}

// A text that begins as that of one request and ends as that of another is no damage, either.
func TestTextsThatMixAreNamed(t *testing.T) {
	t.Parallel()
	r := newRequest(`{"id":`+idMark+`,"text":"`, `"}`, 1000)
	text := payloadOf(r, 8)
	copy(text[len(text)-StampDigits:], payloadOf(r, 7))
	r.Number(8)
	reply := `{"result":{"content":[{"type":"text","text":"` + string(text) + `"}]}}`
	out := r.explain([]byte(reply))
	const says = "the answer to request 8 begins as that to request 8, and ends " +
		"as that to request 7"
	if out.Verdict != Mixed || out.Why != says {
		t.Errorf("%s: %s", out.Verdict, out.Why)
	}
	text = append(text[:300], text[400:]...)
	reply = `{"result":{"content":[{"type":"text","text":"` + string(text) + `"}]}}`
	out = r.explain([]byte(reply))
	if out.Verdict != Mixed || out.Why != says {
		t.Errorf("with a gap: %s: %s", out.Verdict, out.Why)
	}
}

// An answer in which another begins is no JSON, and says more than that.
func TestAnAnswerInAnotherIsMixed(t *testing.T) {
	t.Parallel()
	r := newRequest(`{"id":`+idMark+`,"text":"`, `"}`, 1000)
	r.Echoes = true
	r.Number(7)
	const answer = `{"jsonrpc":"2.0","id":1000000007,"result":{"content":[]}}`
	reply := []byte(answer[:50] + answer + answer[50:])
	out := r.Check(reply, jsonrpc.Scan(reply))
	if out.Verdict != Mixed || out.Why != WhyMixed {
		t.Errorf("%s: %s", out.Verdict, out.Why)
	}
}

// payloadOf returns the payload of a copy of the request.
func payloadOf(r *Request, i int64) []byte {
	r.Number(i)
	return bytes.Clone(r.Payload())
}

// MCP says that the result of a call is an object.
func TestACallThatGivesNullIsNotAnswered(t *testing.T) {
	t.Parallel()
	r := newRequest(`{"id":`+idMark+`,"text":"`, `"}`, 1000)
	r.isCall = true
	reply := []byte(`{"jsonrpc":"2.0","id":1000000000,"result":null}`)
	out := r.Check(reply, jsonrpc.Scan(reply))
	if out.Verdict != Corrupt || !strings.Contains(out.Advice(""), "the result is null; ") {
		t.Errorf("%s: %s", out.Verdict, out.Advice(""))
	}
}

// An encoding that lacks a character writes "?" for it. For one that was cut, U+FFFD comes.
func TestACharacterThatIsLostToItsEncodingIsNamed(t *testing.T) {
	t.Parallel()
	for text, isLost := range map[string]bool{
		"aé?b": true, "aé???b": true, "aé?": true, "aé\uFFFDb": false,
		"aéxb": false, "a?漢b": true,
	} {
		out := compare([]byte("aé漢b"), []byte(text))
		says := strings.HasSuffix(out.Why, ": its encoding has no such character")
		if out.Verdict != Corrupt || says != isLost {
			t.Errorf("%s: %s: %s", text, out.Verdict, out.Why)
		}
	}
	out := compare([]byte("aé漢b"), []byte("a??b"))
	if !strings.Contains(out.Why, `came back as "??b", not "é漢b"`) {
		t.Errorf("cut in a character: %s", out.Why)
	}
	out = compare([]byte("abc"), []byte("a?c"))
	if strings.Contains(out.Why, "encoding") {
		t.Errorf("of a letter: %s", out.Why)
	}
}
