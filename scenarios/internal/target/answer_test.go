package target

import (
	"bytes"
	"strconv"
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
	out = compare([]byte("aé漢b"), []byte("aÃ©æ¼¢b"))
	const latin = `came back as "Ã©æ¼", not "é漢b": UTF-8 was read as Latin-1`
	if !strings.HasSuffix(out.Why, latin) || out.Remedy != adviceUTF8 {
		t.Errorf("read as Latin-1: %s; %s", out.Why, out.Remedy)
	}
	out = compare([]byte("abc"), []byte("a?c"))
	if strings.Contains(out.Why, "encoding") {
		t.Errorf("of a letter: %s", out.Why)
	}
}

// Texts may be escaped in any way that JSON has, and be in a JSON text in a text. If they are not
// escaped, the difference or the error names that.
func TestATextThatIsNotEscapedIsNamed(t *testing.T) {
	t.Parallel()
	r := newRequest(`{"id":`+idMark+`,"text":"`, `"}`, 1000)
	r.Echoes = true
	r = r.WithCharacters(0)
	r.Number(7)
	source := string(r.Payload())
	none, err := strconv.Unquote(`"` + source + `"`)
	if err != nil {
		t.Fatal(err)
	}
	const unescaped = ": the server does not escape texts as JSON asks"
	const changed = ": the server or its tool changed it"
	replacer := strings.NewReplacer
	for _, row := range []struct{ name, text, why string }{
		{"as sent", source, ""},
		{"numbers", replacer(`\n`, `\u000a`, `\"`, `\u0022`, `\\`, `\u005c`, `\t`, `\u0009`,
			`\r`, `\u000d`, "/", `\/`, "<", `\u003c`, "é", `\u00e9`).Replace(source), ""},
		{"JSON in a text", quotedOnce(`{"text":"` + source + `"}`), ""},
		{"JSON with numbers in a text", quotedOnce(`{"text":"` +
			replacer("<", `\u003c`).Replace(source) + `"}`), ""},
		{"a quoted text in a text", quotedOnce(`you said "` + source + `"`), ""},
		{"none", none,
			"no JSON: invalid character '\\n' in string literal" + unescaped},
		{"quotes", replacer(`\"`, `"`).Replace(source), "no JSON: invalid character '<'" +
			" after object key:value pair" + unescaped},
		{"a tab", replacer(`\t`, "\t").Replace(source), "no JSON: invalid character '\\t' in " +
			"string literal" + unescaped},
		{"a backslash", replacer(`\\`, `\`).Replace(source),
			`byte 16 of 967 came back as "t\ré漢", not "\t\ré漢"` + unescaped},
		{"HTML", replacer("<", "&lt;").Replace(source),
			`byte 10 of 967 came back as "&lt;", not "</&>"` + changed},
		{"spaces", replacer(`\n`, " ").Replace(source),
			`came back as " \"</", not "\n\"</"` + changed},
	} {
		reply := []byte(`{"jsonrpc":"2.0","id":1000000007,"result":{"content":[{"type":"text",` +
			`"text":"` + row.text + `"}]}}`)
		out := r.Check(reply, jsonrpc.Scan(reply))
		isRight := out.Verdict == OK && row.why == "" ||
			out.Verdict == Corrupt && row.why != "" && strings.HasSuffix(out.Why, row.why)
		isNamed := strings.HasSuffix(row.why, unescaped)
		if !isRight || isNamed != strings.HasPrefix(out.Remedy, "let a JSON library") {
			t.Errorf("%s: %s: %s; %s", row.name, out.Verdict, out.Why, out.Remedy)
		}
	}
}

// quotedOnce returns the text as a JSON string without its quotes.
func quotedOnce(text string) string {
	text = quoted(text)
	return text[1 : len(text)-1]
}
