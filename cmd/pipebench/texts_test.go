package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results/view"
)

// fits reports the lines of a text that are wider than a terminal of 80 columns.
func fits(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%s: %d columns: %s", what, n, line)
		}
	}
}

// The help of every command and every topic fits a terminal.
func TestHelpFitsATerminal(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	asked := [][]string{{"--help"}}
	for _, cmd := range newRoot().Commands() {
		asked = append(asked, []string{"help", cmd.Name()})
	}
	for _, args := range asked {
		var out strings.Builder
		if code := run(t.Context(), args, nil, &out, &out); code != exitDone {
			t.Errorf("%q: exit %d", args, code)
		}
		fits(t, strings.Join(args, " "), out.String())
	}
}

// Errors are one line in a log, and can be broken so that they fit a terminal.
func TestErrorsFitATerminal(t *testing.T) {
	for _, line := range []string{
		"zork", "rum", "run word", "run --zork", "run --size 2x56", "run --framing nope",
		"run --pipe tube", "run --preset none", "run --preset limits --size 64",
		"run --format yaml", "run --payload random", "run --assert nonsense",
		"run --assert zork>1", "run --placement near", "run --samples 0", "run --max-time -1s",
		"run --capacity x", "run --io nope", "tune --size 1", "tune --framing chunked",
		"tune --objective x", "probe --only x --failures", "probe --step x",
		"inspect", "inspect x", "inspect 0", "call", "check", "drive", "tap", "report",
		"report none.jsonl", "report --charts x none", "compare", "compare a", "compare none none2",
		"serve --fault nope", "drive --size x -- cat", "check --only nope -- cat", "ab x",
		"drive --faults",
	} {
		var stdout, stderr strings.Builder
		if code := run(t.Context(), strings.Fields(line), nil, &stdout, &stderr); code == exitDone {
			t.Errorf("%s: exit 0:\n%s%s", line, &stdout, &stderr)
		}
		fits(t, line, view.Options{}.Wrap(stderr.String()))
	}
}

// The tables of a guide stand on a screen as tables, whole; an indented block keeps its lines.
func TestATextIsLaidOut(t *testing.T) {
	const text = "# Title\n\nOne two\nthree.\n- an item that is longer\n  than a line\n" +
		"\n| a | b |\n|---|---|\n| c | d |\n\n    code\n\n    more\n"
	const want = "# Title\n\nOne two three.\n- an item that\n  is longer than\n  a line\n" +
		"\n a  b\n──────\n c  d\n\n    code\n\n    more\n"
	var out strings.Builder
	writeText(&out, text, view.Options{Width: 16})
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	out.Reset()
	writeText(&out, "    code\n\n| a | b |\n|---|---|\n| c | d |\n", view.Options{Width: 16})
	if want := "    code\n\n a  b\n──────\n c  d\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	out.Reset()
	writeText(&out, "    one\n\n    twelve chars\n      more\n", view.Options{Width: 14})
	if want := "one\n\ntwelve chars\n  more\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

// No word of a guide's tables is lost on a screen.
func TestTheTablesOfGuidesAreShownWhole(t *testing.T) {
	names, err := filepath.Glob("docs/*.md")
	if err != nil || len(names) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	inTable := regexp.MustCompile(`(?m)^\|.*\n`)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		writeText(&out, string(text), view.Options{})
		if inTable.MatchString(out.String()) {
			t.Errorf("%s: a table is shown as it is typed", name)
		}
		words := strings.Fields(out.String())
		for _, row := range inTable.FindAllString(string(text), -1) {
			for _, word := range strings.Fields(row) {
				// A word with one of these may be broken, or is none.
				if !strings.ContainsAny(word, "/-_|") && !slices.Contains(words, word) {
					t.Errorf("%s: %q is not shown of %s", name, word, row)
				}
			}
		}
	}
}
