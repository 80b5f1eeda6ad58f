package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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

func TestAGuideIsFoundByItsPlainName(t *testing.T) {
	for args, want := range map[string]string{
		"help claims": "# Common claims",
		"help pipes":  "# What pipes do",
	} {
		var out strings.Builder
		run(t.Context(), strings.Fields(args), nil, &out, &out)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: printed %q", args, out.String())
		}
	}
	seen := map[string]bool{}
	for _, cmd := range newRoot().Commands() {
		if seen[cmd.Name()] {
			t.Errorf("two commands are called %s", cmd.Name())
		}
		seen[cmd.Name()] = true
	}
}

// The headings of a command's flags name flags that it has.
func TestHelpIsGrouped(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		for line := range strings.Lines(cmd.Annotations[flagGroups]) {
			_, names, _ := strings.Cut(line, ":")
			for _, name := range strings.Fields(names) {
				if cmd.Flags().Lookup(name) == nil {
					t.Errorf("%s: no flag is called %s", cmd.Name(), name)
				}
			}
		}
	}
	var out strings.Builder
	run(t.Context(), []string{"drive", "--help"}, nil, &out, &out)
	if !strings.Contains(out.String(), "\nHow it is connected:\n      --capacity") || !strings.Contains(out.String(), "\nResults and time:\n") {
		t.Errorf("the flags of drive are not grouped:\n%s", out.String())
	}
}

// The help of each command says in its first line what the command does, in its second a command
// that can be typed, and what it ends with.
func TestHelpBeginsWithWhatTheCommandDoesAndAnExample(t *testing.T) {
	for _, group := range commandGroups {
		for _, row := range group.commands {
			lines := strings.Split(withHelp(row.name).Long, "\n")
			if len(lines) < 4 || lines[1] != "" || len(lines[0]) > 80 ||
				!strings.HasSuffix(lines[0], ".") && !strings.HasSuffix(lines[0], "?") {
				t.Errorf("help/%s.txt does not begin with a sentence of one line: %q",
					row.name, lines[0])
				continue
			}
			command := "pipebench " + row.name
			if !strings.HasPrefix(lines[2], "  ") || !strings.Contains(lines[2], command) {
				t.Errorf("help/%s.txt: no example behind its first line, but %q",
					row.name, lines[2])
			}
			if !strings.Contains(strings.Join(lines, "\n"), "\nExit status: ") {
				t.Errorf("help/%s.txt does not say with what the command ends", row.name)
			}
		}
	}
}

// Each command has a row of commandGroups and a text in help, and stands in the help of pipebench
// once.
func TestEachCommandHasARowAndATextOfHelp(t *testing.T) {
	var out strings.Builder
	root := newRoot()
	run(t.Context(), []string{"--help"}, nil, &out, &out)
	rows := []string{"pipebench"}
	for _, group := range commandGroups {
		for _, row := range group.commands {
			rows = append(rows, row.name)
			cmd, _, err := root.Find([]string{row.name})
			if err != nil || cmd.Short == "" || cmd.Long == "" || cmd.Example == "" {
				t.Errorf("help/%s.txt lacks a purpose, a text or examples", row.name)
			}
			if n := strings.Count(out.String(), "\n  "+row.name+" "); n != 1 {
				t.Errorf("%s stands %d times in the help: if more than once, a guide has that name",
					row.name, n)
			}
		}
	}
	texts, err := helpTexts.ReadDir("help")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if name := strings.TrimSuffix(text.Name(), ".txt"); !slices.Contains(rows, name) {
			t.Errorf("help/%s.txt is of no command: commandGroups lacks it", name)
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
