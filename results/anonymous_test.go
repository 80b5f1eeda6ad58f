package results_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// writeAnonymous writes lines as --anonymous does, and returns the text and what is read from it.
func writeAnonymous(t *testing.T, lines ...results.Line) (string, *results.Set) {
	t.Helper()
	var text bytes.Buffer
	w := results.NewWriter(&text)
	w.Anonymize()
	for _, l := range lines {
		if err := w.Write(l); err != nil {
			t.Fatal(err)
		}
	}
	written := text.String()
	set, err := results.ReadFrom("f", &text)
	if err != nil || len(set.Problems) > 0 {
		t.Fatal(err, set.Problems)
	}
	return written, set
}

func TestAnonymousLinesNameNoHostAndNoUser(t *testing.T) {
	env := resultstest.Environment()
	env.Hostname = "web7.example.org"
	env.Labels = map[string]string{
		"node": "web7.example.org", "pod": "bench-x2", "suite": "nightly",
	}
	env.Command = `pipebench drive --out /home/alice/out -- 'C:\Users\Jane Doe\server.exe' /x`
	target := results.Target{
		Run:     env.Run,
		Command: []string{"node", "/Users/alice/server.js", "/home/bob", "C:/Users/Jane Doe/x"},
		Verdict: "ok",
	}
	finding := results.Finding{
		Run: env.Run, ID: "check/talk", Title: "t", Verdict: results.Noted,
		Found: "cannot open /home/alice/data, /home/alice",
		Evidence: results.MustEvidence(map[string]string{
			"stderr": `C:\Users\Jane Doe\x: not found`,
		}),
	}
	text, set := writeAnonymous(t, env, target, finding)
	for _, name := range []string{"web7", "bench-x2", "alice", "bob", "Jane", "Doe"} {
		if strings.Contains(text, name) {
			t.Errorf("%s is told: %s", name, text)
		}
	}
	got := set.Environments[0]
	host := regexp.MustCompile(`^host-[0-9a-f]{12}$`)
	if !host.MatchString(got.Hostname) || got.Labels["node"] != got.Hostname ||
		!host.MatchString(got.Labels["pod"]) || got.Labels["suite"] != "nightly" {
		t.Errorf("host %q, labels %v", got.Hostname, got.Labels)
	}
	if env.Labels["node"] != "web7.example.org" {
		t.Error("the caller's labels were changed")
	}
	command := regexp.MustCompile(`^pipebench drive --out /home/user-[0-9a-f]{12}/out -- ` +
		`'C:\\Users\\user-[0-9a-f]{12}\\server.exe' /x$`)
	if !command.MatchString(got.Command) {
		t.Errorf("command %s", got.Command)
	}
	if got.Machine != env.Machine {
		t.Errorf("machine %s, want %s as it was", got.Machine, env.Machine)
	}
}

// Hosts can be told apart and found again by their hashes.
func TestAnonymousHostsStayApart(t *testing.T) {
	var lines []results.Line
	for _, host := range []string{"a", "b", "a", ""} {
		env := resultstest.Environment()
		env.Run += host
		env.Hostname = host
		env.Seed = int64(len(lines))
		lines = append(lines, env)
	}
	_, set := writeAnonymous(t, lines...)
	e := set.Environments
	if e[0].Hostname == e[1].Hostname || e[0].Hostname != e[2].Hostname || e[3].Hostname != "" {
		t.Errorf("%q, %q, %q, %q", e[0].Hostname, e[1].Hostname, e[2].Hostname, e[3].Hostname)
	}
}
