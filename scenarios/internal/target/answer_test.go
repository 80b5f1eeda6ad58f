package target

import (
	"bytes"
	"strings"
	"testing"
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
