package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/measure"
	"github.com/pipebench/pipebench/scenarios/tune"
)

var updateScreens = flag.Bool("update", false, "write what docs/screens.md shows of recorded runs anew")

// asShown are the commands of which docs/screens.md shows what they print of the recorded runs.
var asShown = []string{"run", "probe", "profile", "tune", "claims", "doctor"}

// showScreen compares what a guide shows of a command, up to where something is left out, with what
// it printed, and writes it anew where that was asked for.
func showScreen(t *testing.T, guide, command, printed string) {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), "    $ pipebench "+command+"\n")
	shown, after, cut := strings.Cut(rest, "    […]\n")
	if !found || !cut || strings.Contains(shown, "$ ") {
		t.Fatalf("%s does not show %s, or not where it leaves something out", guide, command)
	}
	var want strings.Builder
	for _, line := range strings.SplitAfterN(printed, "\n", strings.Count(shown, "\n")+1)[:strings.Count(shown, "\n")] {
		if line != "\n" {
			line = "    " + line
		}
		want.WriteString(line)
	}
	switch {
	case want.String() == shown:
	case *updateScreens:
		text := before + "    $ pipebench " + command + "\n" + want.String() + "    […]\n" + after
		if err := os.WriteFile(guide, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s shows other than what is printed; -update writes it anew:\n%s", guide, want.String())
	}
}

// What each command prints of recorded runs fits a terminal of 80 and of 100 columns, its first screen
// and all of its details, and the first screen is not longer than a person reads.
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
	comparison := stat.Compare(stat.DatasetOf("old", twice), stat.DatasetOf("new", recorded("profile")), stat.CompareOptions{Across: true})
	says := map[string][]string{"profile": {
		"The limits of this machine's pipes", `memory copy \[1\] +64 MiB`, "raw stream +4 KiB",
		"raw round trip, median +1 B|raw round trip, p99 +1 B", "raw stream, splice", `nobody\s+reads\s+the\s+bytes`,
	}}
	for command, row := range map[string]struct {
		set   *results.Set
		lines int // of the first screen at 100 columns, at most
		show  show
	}{
		"run":           {twice, 50, set},
		"doctor":        {recorded("doctor"), 40, set},
		"drive":         {recorded("drive"), 40, drive},
		"drive --load":  {recorded("load"), 40, drive},
		"drive --fault": {recorded("faults"), 40, drive},
		"tune": {recorded("tune"), 45, func(w io.Writer, set *results.Set, o view.Options) error {
			return tune.View(w, view.FormatTable, set, tune.Balanced, o)
		}},
		"profile": {recorded("profile"), 40, func(w io.Writer, set *results.Set, o view.Options) error {
			return measure.ProfilePage(set).Write(w, view.FormatTable, o)
		}},
		"claims": {recorded("claims"), 40, func(w io.Writer, set *results.Set, o view.Options) error {
			return view.WriteClaims(w, view.FormatTable, set, o)
		}},
		"check": {recorded("check"), 40, func(w io.Writer, set *results.Set, o view.Options) error {
			return view.WriteChecks(w, view.FormatTable, set, o)
		}},
		"run --scenario": {recorded("scenario"), 45, func(w io.Writer, set *results.Set, o view.Options) error {
			return viewFaults(w, view.FormatTable, set, faults.All(), o)
		}},
		"compare": {twice, 50, func(w io.Writer, _ *results.Set, o view.Options) error {
			return view.WriteComparison(w, comparison, view.FormatTable, o)
		}},
		"probe": {read("platforms/amd64.jsonl.gz"), 20, func(w io.Writer, set *results.Set, o view.Options) error {
			if o.Detail {
				return view.RulesPage(set).Write(w, view.FormatTable, o)
			}
			return view.RulesScreen(set).Write(w, view.FormatTable, o)
		}},
		"report --atlas": {read("platforms/*.jsonl.gz"), 1000, func(w io.Writer, set *results.Set, o view.Options) error {
			detail := o.Detail
			o.Detail = true
			return view.Atlas(set, documented([]string{"macos", "freebsd"}), detail).Write(w, view.FormatTable, o)
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
				if o.Width == 100 && !o.Detail && slices.Contains(asShown, command) {
					showScreen(t, filepath.Join("docs", "screens.md"), command, text.String())
				}
				for _, want := range says[command] {
					if !regexp.MustCompile(want).Match(text.Bytes()) {
						t.Errorf("no %s", want)
					}
				}
				if !o.Detail && o.Width == 100 && len(lines) > row.lines {
					t.Errorf("%d lines, where %d are a screen", len(lines), row.lines)
				}
			})
		}
	}
}
