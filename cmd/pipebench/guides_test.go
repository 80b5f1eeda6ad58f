package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
)

// Every command and flag that README and the guides show exists. What stands behind -- belongs to
// another program, or to another command of this one.
func TestReadmeAndGuidesShowOnlyCommandsAndFlagsThatExist(t *testing.T) {
	texts, err := filepath.Glob("docs/*.md")
	if err != nil || len(texts) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	shown := regexp.MustCompile("(?:pipebench|go run ./cmd/pipebench|\\./new) ([a-z]+)( [^`\n#|>)]*)?")
	found := 0
	for _, file := range append(texts, filepath.Join("..", "..", "README.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range shown.FindAllStringSubmatch(code(string(text)), -1) {
			if strings.HasPrefix(match[2], " ·") { // the head of an output, not a command
				continue
			}
			root := newRoot()
			root.InitDefaultHelpCmd()
			cmd, _, err := root.Find([]string{match[1]})
			if err != nil || cmd == cmd.Root() {
				t.Errorf("%s: %q: there is no command %q", file, match[0], match[1])
				continue
			}
			found++
			haveFlags(t, file, cmd, match[2])
		}
	}
	if found < 20 {
		t.Errorf("only %d commands were found in README and the guides", found)
	}
}

func haveFlags(t *testing.T, file string, cmd *cobra.Command, args string) {
	t.Helper()
	for _, word := range strings.Fields(args) {
		if word == "--" {
			return
		}
		name, long := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		if long && cmd.Flags().Lookup(name) == nil && name != "help" {
			t.Errorf("%s: %s has no flag --%s", file, cmd.CommandPath(), name)
		}
	}
}

// code returns the code of a Markdown text: blocks, indented lines, and what stands in back quotes.
func code(markdown string) string {
	var out []string
	inside := false
	for line := range strings.Lines(markdown) {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = !inside
		case inside || strings.HasPrefix(line, "    "):
			out = append(out, line)
		default:
			for i, part := range strings.Split(line, "`") {
				if i%2 == 1 {
					out = append(out, part+"\n")
				}
			}
		}
	}
	return strings.Join(out, "")
}

func TestHelpShowsAGuide(t *testing.T) {
	var out strings.Builder
	if code := run(t.Context(), []string{"help", "exit-codes"}, nil, &out, &out); code != exitDone || !strings.Contains(out.String(), "# Exit codes") {
		t.Errorf("exit %d, printed %q", code, out.String())
	}
	out.Reset()
	if code := run(t.Context(), []string{"--help"}, nil, &out, &out); code != exitDone || !strings.Contains(out.String(), "What pipes do") {
		t.Errorf("exit %d; the help does not name the guides: %q", code, out.String())
	}
}

// The tables of a guide stand on a screen as tables, whole, and no wider than it.
func TestTheTablesOfGuidesFitAScreen(t *testing.T) {
	names, err := filepath.Glob("docs/*.md")
	if err != nil || len(names) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		writeGuide(cmd, string(text))
		inTable := regexp.MustCompile(`(?m)^\|.*\n`)
		if inTable.MatchString(out.String()) {
			t.Errorf("%s: a table is shown as it is typed", name)
		}
		rules, words := 0, strings.Fields(out.String())
		for _, row := range inTable.FindAllString(string(text), -1) {
			for _, word := range strings.Fields(row) {
				if !strings.ContainsAny(word, "/-_|") && !slices.Contains(words, word) { // which may be broken, or are no words
					t.Errorf("%s: %q is not shown of %s", name, word, row)
				}
			}
		}
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "──") {
				if rules++; utf8.RuneCountInString(line) > 101 {
					t.Errorf("%s: a table is wider than a screen: %s", name, line)
				}
			}
		}
		if typed := strings.Count(string(text), "\n|:-") + strings.Count(string(text), "\n|--") + strings.Count(string(text), "\n| -"); rules < typed {
			t.Errorf("%s: %d tables are shown of %d", name, rules, typed)
		}
	}
}

// A guide does not hide the command of its name.
func TestNoGuideHidesACommand(t *testing.T) {
	var out strings.Builder
	if code := run(t.Context(), []string{"help", "claims-guide"}, nil, &out, &out); code != exitDone || !strings.Contains(out.String(), "# Common claims") {
		t.Errorf("exit %d, printed %q", code, out.String())
	}
	seen := map[string]bool{}
	for _, cmd := range newRoot().Commands() {
		if seen[cmd.Name()] {
			t.Errorf("two commands are called %s", cmd.Name())
		}
		seen[cmd.Name()] = true
	}
}

// Help fits a terminal, and the headings of a command's flags name flags that it has.
func TestHelpIsGroupedAndFitsATerminal(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		for line := range strings.Lines(cmd.Annotations[flagGroups]) {
			_, names, _ := strings.Cut(line, ":")
			for _, name := range strings.Fields(names) {
				if cmd.Flags().Lookup(name) == nil {
					t.Errorf("%s: no flag is called %s", cmd.Name(), name)
				}
			}
		}
		var flags strings.Builder
		writeFlags(&flags, cmd)
		for line := range strings.Lines(flags.String()) {
			if n := utf8.RuneCountInString(line) - 1; n > helpWidth {
				t.Errorf("%s: %d columns: %s", cmd.Name(), n, line)
			}
		}
	}
	var out strings.Builder
	run(t.Context(), []string{"drive", "--help"}, nil, &out, &out)
	if !strings.Contains(out.String(), "\nHow it is connected:\n      --capacity") || !strings.Contains(out.String(), "\nResults and time:\n") {
		t.Errorf("the flags of drive are not grouped:\n%s", out.String())
	}
}

// Each command stands in the help of pipebench, once, in a line that fits a terminal.
func TestTheRootHelpHasEveryCommand(t *testing.T) {
	var out strings.Builder
	root := newRoot()
	writeRootHelp(&out, root)
	for _, cmd := range root.Commands() {
		line := "\n  " + cmd.Name() + " "
		if cmd.IsAvailableCommand() && cmd.Name() != "completion" && strings.Count(out.String(), line) != 1 {
			t.Errorf("%s is not in the help once", cmd.Name())
		}
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(line) - 1; n > helpWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// The records of other systems that are kept are read whole by this version, and the guide shows
// what they say.
func TestTheGuideShowsTheRulesOfTheKeptRecords(t *testing.T) {
	kept, err := filepath.Glob("testdata/platforms/*.jsonl.gz")
	if err != nil || len(kept) < 12 {
		t.Fatalf("records of %d systems: %v", len(kept), err)
	}
	if set, err := results.Read(kept...); err != nil || len(set.Problems) > 0 || len(set.Machines()) < len(kept) {
		t.Errorf("of %d files: %d machines, problems %v, %v", len(kept), len(set.Machines()), set.Problems, err)
	}
	var rules, failures strings.Builder
	args := append([]string{"probe", "--against", "macos,freebsd", "--format", "markdown"}, kept...)
	if code := run(t.Context(), args, nil, &rules, &failures); code != exitDone {
		t.Fatalf("exit %d: %s", code, failures.String())
	}
	guide, err := os.ReadFile("docs/platforms.md")
	if err != nil || !strings.HasSuffix(string(guide), rules.String()) {
		t.Errorf("docs/platforms.md does not end with these rules; .ci/platforms --keep puts it there (%v)", err)
	}
}

// The manifests set the variables by which a run in Kubernetes labels itself.
func TestManifestsSetTheVariablesOfLabels(t *testing.T) {
	text, err := os.ReadFile("docs/kubernetes/job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range ownLabels {
		for _, name := range l.variables {
			set := strings.Contains(string(text), "name: "+name+"\n")
			if strings.HasPrefix(name, "K8S_") && !set {
				t.Errorf("label %s: job.yaml does not set %s", l.label, name)
			}
		}
	}
}
