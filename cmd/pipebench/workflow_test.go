//go:build unix

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// guideWorkflow returns the workflow that the guide shows.
func guideWorkflow(t *testing.T) string {
	t.Helper()
	guide, err := guideFiles.ReadFile("docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	var workflow strings.Builder
	_, rest, _ := strings.Cut(string(guide), "\n    name: gate\n")
	for line := range strings.Lines(rest) {
		code, isCode := strings.CutPrefix(line, "    ")
		if !isCode {
			break
		}
		workflow.WriteString(code)
	}
	return workflow.String()
}

// The workflow is a whole one. (To import the linter would make this binary large for --memory.)
func TestTheGuidesWorkflowIsValid(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	cmd := exec.CommandContext(t.Context(), "go", "tool", "actionlint", "-shellcheck=", "-")
	cmd.Stdin = strings.NewReader(guideWorkflow(t))
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, said)
	}
}

// The workflow compares with the base of the pull request. Where an event has no base, the job
// fails: the new version is never compared with itself.
func TestTheGuidesWorkflowComparesWithTheBase(t *testing.T) {
	for _, tool := range []string{"bash", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	_, step, found := strings.Cut(guideWorkflow(t),
		"BASE_SHA: ${{ github.event.pull_request.base.sha }}\n        run: |\n")
	build, _, _ := strings.Cut(step, "\n      - ")
	if !found {
		t.Fatal("no step knows the base")
	}
	folder := t.TempDir()
	bash := func(script string) (string, error) {
		cmd := exec.Command("bash", "-e", "-c", "go() { true; }\n"+script)
		cmd.Dir = folder
		said, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(said)), err
	}
	first, err := bash(`git init -q
		git config user.name me && git config user.email me@example.com
		git commit -q --allow-empty -m old && git rev-parse HEAD
		git commit -q --allow-empty -m new`)
	if err != nil {
		t.Fatalf("%v: %s", err, first)
	}
	if said, err := bash("BASE_SHA=\n" + build); err == nil {
		t.Errorf("without a base: %s", said)
	}
	said, err := bash("BASE_SHA=" + first + "\n" + build + "\ngit rev-parse HEAD")
	if err != nil || !strings.HasSuffix(said, "\n"+first) {
		t.Errorf("%v; the base is not %s:\n%s", err, first, said)
	}
}
