package view_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// judgedClaims returns as many claims of each verdict as of each document.
func judgedClaims(of int) *results.Set {
	var set results.Set
	for i := range of {
		for seed := range 5 {
			for v, verdict := range []string{"holds", "refuted", "depends", "not-testable-here"} {
				set.Claims = append(set.Claims, results.Claim{
					ID: fmt.Sprintf("00%d-claim-%d%d", seed, v, i), Seed: fmt.Sprintf("00%d", seed), Verdict: verdict,
					Claim:  "A sentence that is as long as that of a claim may be, and so does not fit a line of the terminal",
					Figure: "18 KiB", Why: "a reason that is no shorter than the sentence itself, and is cut where the line of it ends",
				})
			}
		}
	}
	return &set
}

func TestClaimsFitAScreen(t *testing.T) {
	for _, of := range []int{1, 3, 40} {
		set := judgedClaims(of)
		var text strings.Builder
		if err := view.WriteClaims(&text, view.FormatTable, set, view.Options{}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
		n := 5 * of
		want := fmt.Sprintf("%d claims: %d hold, %d refuted, %d conditional, %d not testable here", 4*n, n, n, n, n)
		if lines[0] != want {
			t.Errorf("begins with %q, want %q", lines[0], want)
		}
		for _, l := range lines {
			if utf8.RuneCountInString(l) > 100 {
				t.Errorf("a line of more than 100 columns: %s", l)
			}
		}
		if len(lines) > 40 {
			t.Errorf("%d lines of %d claims:\n%s", len(lines), 4*n, &text)
		}
		if lines[2] != "Refuted" || !strings.HasPrefix(lines[3], " 000-claim-10: A sentence") || strings.Contains(lines[4], "18 KiB: a reason") != (of <= 3) {
			t.Errorf("want refuted claims first, and why:\n%s", &text)
		}
		row := regexp.MustCompile(fmt.Sprintf(` 003 Content-Length framing +%d +%[1]d +%[1]d +%[1]d`, of))
		if !row.MatchString(text.String()) || !strings.Contains(text.String(), "--detail") {
			t.Errorf("want the verdicts of each document by its title:\n%s", &text)
		}
	}
}

func TestClaimsInEveryFormat(t *testing.T) {
	for _, c := range []struct {
		format view.Format
		detail bool
		want   string
	}{
		{view.FormatTable, true, `000-claim-20 +conditional +A sentence .* 18 KiB: a reason`},
		{view.FormatMarkdown, false, `\| 000-claim-20 +\| 000 .*\| conditional .*\| 18 KiB .*\| a reason`},
		{view.FormatCSV, false, `(?s)^id,seed,claim,verdict,figure,why\n.*000-claim-20,000,.*,depends,18 KiB,`},
		{view.FormatJSON, false, `(?s)"claims": \[.*"verdict": "depends"`},
	} {
		var text strings.Builder
		if err := view.WriteClaims(&text, c.format, judgedClaims(1), view.Options{Detail: c.detail}); err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(c.want).MatchString(text.String()) {
			t.Errorf("%s: want %s in\n%s", c.format, c.want, &text)
		}
	}
	if err := view.WriteClaims(new(strings.Builder), view.FormatTable, new(results.Set), view.Options{}); err != view.ErrNothing {
		t.Errorf("no claims: got %v", err)
	}
}
