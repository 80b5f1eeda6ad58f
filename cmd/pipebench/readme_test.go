package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every pipebench command in the README's shell blocks is run, in the order of the text and in one
// folder, and has to succeed. A line that goes on to another program is that program's business.
func TestTheReadmesCommandsWork(t *testing.T) {
	if testing.Short() {
		t.Skip("the commands measure, one after the other")
	}
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	commands := commands(string(text))
	if len(commands) < 2 {
		t.Fatalf("the README has only these commands: %q", commands)
	}
	for _, words := range commands {
		t.Run(strings.Join(words, " "), func(t *testing.T) {
			cmd := command(t, commandEnv+"=1", short(expand(t, folder, words))...)
			cmd.Dir, cmd.Env = folder, append(cmd.Env, "PIPEBENCH_RECORDS_ONLY=1")
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v:\n%s", err, said)
			}
		})
	}
}

// short has a run measure as little as its flags allow, and probe one kind of pipe: what is tested is
// that flags are taken. Samples that a command asks for stay the last word.
func short(args []string) []string {
	switch least := []string{"run", "--samples", "1", "--duration", "1ms", "--forks", "1", "--max-time", "5m"}; { // a busy machine needs it
	case args[0] == "run" && len(args) == 1:
		return append(least, "--size", "256", "--placement", "free")
	case args[0] == "run" && !slices.Contains(args, "--dry-run"):
		return append(least, args[1:]...)
	case args[0] == "probe" && !slices.Contains(args, "--claims"):
		return append(args, "--pipe", "anonymous", "--step", "capacity,full")
	}
	return args
}

// commands are the arguments of each pipebench command in the sh blocks of a Markdown text.
func commands(markdown string) [][]string {
	var found [][]string
	inside := false
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			inside = line == "```sh"
			continue
		}
		line, _, _ = strings.Cut(line, " #")
		line = strings.Replace(line, "go run ./cmd/pipebench", "pipebench", 1)
		if args, ok := strings.CutPrefix(line, "pipebench "); inside && ok && !strings.ContainsAny(line, "|>") {
			found = append(found, strings.Fields(args))
		}
	}
	return found
}

// expand does what a shell in the folder does with a star.
func expand(t *testing.T, folder string, words []string) []string {
	t.Helper()
	var out []string
	for _, w := range words {
		files, err := fs.Glob(os.DirFS(folder), w)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			files = []string{w}
		}
		out = append(out, files...)
	}
	return out
}

// What README and the guide of screens show of quick commands is what they print, but for figures
// and what is left out.
func TestWhatIsShownIsPrinted(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for a server that does not reply")
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	screens, err := guideFiles.ReadFile("docs/screens.md")
	if err != nil {
		t.Fatal(err)
	}
	probed, err := filepath.Abs("testdata/platforms/amd64.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	serve := []string{"--", os.Args[0], "serve"}
	drive := []string{"drive", "--duration", "5ms", "--small-pipe", "none", "--quiet",
		"--patience", "300ms"} // each failure is waited for
	for shown, row := range map[string]struct {
		args     []string
		stdin    string
		exitCode int
	}{
		"pipebench drive -- pipebench serve --fault deaf@1MiB": {
			args: slices.Concat(drive, []string{"--size", "256KiB,1MiB,2MiB"}, serve, []string{"--fault", "deaf@1MiB"})},
		`echo 'echo {"message":"hi"}' | pipebench call -- pipebench serve`: {args: append([]string{"call"}, serve...), stdin: `echo {"message":"hi"}`},
		"pipebench check -- seq 9": {args: []string{"check", "--", "seq", "9"}},
		"pipebench probe":          {args: []string{"probe", probed}}, // measured before
	} {
		t.Run(shown, func(t *testing.T) {
			t.Parallel()
			lines, found := shownBlock(string(readme)+string(screens), shown)
			if !found {
				t.Fatal("is shown nowhere")
			}
			cmd := command(t, commandEnv+"=1", row.args...)
			cmd.Dir = t.TempDir()
			cmd.Env = append(cmd.Env, "PIPEBENCH_RECORDS_ONLY=1", "COLUMNS=80")
			cmd.Stdin = strings.NewReader(row.stdin)
			said, err := cmd.Output()
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != row.exitCode {
				t.Fatalf("%v:\n%s", err, said)
			}
			printed := shape(strings.ReplaceAll(string(said), os.Args[0], "pipebench"))
			for _, line := range lines {
				if want := shape(line); !strings.Contains(line, " · ") && !strings.Contains(printed, want) { // but the machine
					t.Errorf("%q is shown, and this printed\n%s", line, said)
				}
			}
		})
	}
}

// shownBlock returns what a Markdown text shows of a command, up to where something is left out.
func shownBlock(markdown, command string) (lines []string, found bool) {
	_, rest, found := strings.Cut(markdown, "$ "+command+"\n")
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "**") || strings.HasPrefix(line, "#") {
			break
		}
		if line != "" && line != "[…]" {
			lines = append(lines, line)
		}
	}
	return lines, found
}

var figures = regexp.MustCompile(`~?[0-9][0-9,.-]*( ?(ns|µs|ms|s|B|[KMG]iB|[MG]B/s)\b)?`)

// shape is a text without its figures, whose lines may be broken elsewhere.
func shape(text string) string {
	return figures.ReplaceAllString(strings.Join(strings.Fields(text), " "), "#")
}

// A line of its own says how to run the tests: .ci/run takes it from there.
func TestTheReadmeSaysHowToTest(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\ngo test ./...\n") {
		t.Error("README has no line with the test command alone")
	}
}
