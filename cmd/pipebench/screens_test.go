package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/claims"

	"github.com/pipebench/pipebench/scenarios/tune"
)

var updateScreens = flag.Bool("update", false, "write what README and docs/screens.md show of recorded runs anew")

// asShown are the commands of which README and docs/screens.md show what they print of the recorded
// runs, by the names of those.
var asShown = map[string]string{
	"run": "run", "probe": "probe", "tune": "tune", "probe --claims": "probe --claims",
	"probe --failures": "probe --failures",
	"drive":            "drive -- pipebench serve --fault deaf@1MiB",
	"check":            "check --server -- pipebench serve --fault deaf@64KiB",
}

// showScreen compares what a text shows of a command with what it printed, and writes it anew where
// that was asked for. What it leaves out is a line that begins with "[…"; the line after that says
// by its beginning, up to a comma, where it goes on. It returns whether the command is shown at
// all.
func showScreen(t *testing.T, guide, indent, command, printed string) bool {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), indent+"$ pipebench "+command+"\n")
	var shown, want strings.Builder
	lines, left := strings.Split(printed, "\n"), false
	for line := range strings.Lines(rest) {
		content := strings.TrimRight(strings.TrimPrefix(line, indent), "\n")
		if content == "```" || content != "" && !strings.HasPrefix(line, indent) {
			break
		}
		shown.WriteString(line)
		gap := strings.HasPrefix(content, "[…")
		if start, _, _ := strings.Cut(content, ","); left && start != "" {
			at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, start) })
			if at < 0 {
				t.Fatalf("%s: nothing that begins with %q is printed of %s", guide, start, command)
			}
			lines, left = lines[at:], false
		}
		switch left = left || gap; {
		case left:
			want.WriteString(line)
		case len(lines) == 0 && content != "": // less is printed now
		case len(lines) == 0:
			want.WriteString("\n")
		case lines[0] == "":
			want.WriteString("\n")
			lines = lines[1:]
		default:
			want.WriteString(indent + lines[0] + "\n")
			lines = lines[1:]
		}
	}
	switch {
	case want.String() == shown.String():
	case *updateScreens:
		after := strings.TrimPrefix(rest, shown.String())
		if err := os.WriteFile(guide, []byte(before+indent+"$ pipebench "+command+"\n"+want.String()+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s shows other than what is printed; -update writes it anew:\n%s", guide, want.String())
	}
	return found
}

// The screens of recorded runs fit a terminal of 80 and of 100 columns, the first screen and all
// details, and the first screen is not longer than a person reads.
func TestScreensFitATerminal(t *testing.T) {
	read := func(pattern string) *results.Set {
		files, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no file, %v", pattern, err)
		}
		set, err := results.Read(files...)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	recorded := func(command string) *results.Set { return read("screens/" + command + ".jsonl.gz") }
	type show func(w io.Writer, set *results.Set, o view.Options) error
	set := func(w io.Writer, set *results.Set, o view.Options) error {
		return view.Write(w, set, view.FormatTable, o)
	}
	drive := func(w io.Writer, set *results.Set, o view.Options) error {
		return view.WriteDrive(w, view.FormatTable, set, o)
	}
	twice := recorded("run")
	tuned := recorded("tune")
	answer := tune.Decide(tuned.Records, tune.Balanced).Answer(nil)
	comparison := stat.Compare(stat.DatasetOf("old", twice),
		stat.DatasetOf("new", tuned), stat.CompareOptions{Across: true})
	for command, row := range map[string]struct {
		set   *results.Set
		lines int // of the first screen at 100 columns, at most
		show  show
	}{
		"run":          {twice, 50, set},
		"drive":        {recorded("drive"), 40, drive},
		"drive --load": {recorded("load"), 40, drive},
		"tune": {tuned, 40, func(w io.Writer, _ *results.Set, o view.Options) error {
			return answer.Page(o.Detail).Write(w, view.FormatTable, o)
		}},
		"probe --claims": {recorded("claims"), 50,
			func(w io.Writer, set *results.Set, o view.Options) error {
				only := &results.Set{Findings: claims.Judge(set, claims.All())}
				return view.WriteFindings(w, view.FormatTable, only, o)
			}},
		"check": {recorded("check"), 40, func(w io.Writer, set *results.Set, o view.Options) error {
			return view.WriteFindings(w, view.FormatTable, set, o)
		}},
		"probe --failures": {recorded("failures"), 120,
			func(w io.Writer, set *results.Set, o view.Options) error {
				only := &results.Set{Findings: set.FindingsOf(results.AreaFailure)}
				return view.WriteFindings(w, view.FormatTable, only, o)
			}},
		"compare": {twice, 50, func(w io.Writer, _ *results.Set, o view.Options) error {
			return view.WriteComparison(w, comparison, view.FormatTable, o)
		}},
		"probe": {read("platforms/amd64.jsonl.gz"), 60, func(w io.Writer, set *results.Set, o view.Options) error {
			return view.WriteRules(w, view.FormatTable, set, nil, o)
		}},
		"probe --against": {read("platforms/*.jsonl.gz"), 1000,
			func(w io.Writer, set *results.Set, o view.Options) error {
				systems := documented([]string{"macos", "freebsd"})
				return view.WriteRules(w, view.FormatTable, set, systems, o)
			}},
	} {
		for _, o := range []view.Options{{Width: 80}, {Width: 100}, {Width: 80, Detail: true}, {Width: 100, Detail: true}} {
			t.Run(fmt.Sprintf("%s/%d/%v", command, o.Width, o.Detail), func(t *testing.T) {
				var text bytes.Buffer
				if err := row.show(&text, row.set, o); err != nil {
					t.Fatal(err)
				}
				lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
				for i, line := range lines {
					if n := utf8.RuneCountInString(line); n > o.Width {
						t.Errorf("line %d has %d columns: %s", i+1, n, line)
					}
				}
				if shown := asShown[command]; o.Width == 80 && !o.Detail && shown != "" {
					showScreen(t, filepath.Join("..", "..", "README.md"), "", shown, text.String())
					if !showScreen(t, filepath.Join("docs", "screens.md"), "    ", shown, text.String()) {
						t.Error("the guide of screens does not show it")
					}
				}
				if !o.Detail && o.Width == 100 && len(lines) > row.lines {
					t.Errorf("%d lines, where %d are a screen", len(lines), row.lines)
				}
			})
		}
	}
}
