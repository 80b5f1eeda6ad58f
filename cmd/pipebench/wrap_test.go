package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const clientConfig = `{
  "theme": "dark",
  "mcpServers": {
    "files": {
      "args": ["--root", "/srv/<a>"],
      "command": "file-server",   "env": {"KEEP": "1"}
    },
    "bare": {"command": "bare-server"},
    "remote": {"url": "https://example.org/mcp"}
  }
}
`

// tapOn runs tap on a configuration.
func tapOn(t *testing.T, args ...string) string {
	t.Helper()
	var out strings.Builder
	cmd := newRoot(append([]string{"tap"}, args...)...)
	cmd.SetArgs(append([]string{"tap"}, args...))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	if err := cmd.Execute(); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	return out.String()
}

func TestAServerOfAConfigurationIsWrappedAndUnwrapped(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	if err := os.WriteFile(path, []byte(clientConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tapOn(t, "--wrap", path, "--redact", "files")
	wrapped := readConfig(t, path)
	want := []string{"tap", "-o", filepath.Join(dir, "tap-files.jsonl"), "--redact", "--", "file-server", "--root", "/srv/<a>"}
	if diff := cmp.Diff(want, wrapped["files"].Args); diff != "" || wrapped["files"].Command != self {
		t.Errorf("command %q: %s", wrapped["files"].Command, diff)
	}
	if wrapped["bare"].Command != "bare-server" || wrapped["files"].Env["KEEP"] != "1" {
		t.Errorf("the rest was changed: %+v", wrapped)
	}
	if copied, err := os.ReadFile(path + ".before-tap"); string(copied) != clientConfig || err != nil {
		t.Errorf("the copy is %q, %v", copied, err)
	}
}

// Unwrapping gives back the configuration that was wrapped; only an empty list of arguments may be
// new.
func TestUnwrappingGivesBackWhatWasWrapped(t *testing.T) {
	for _, row := range []struct{ config, want string }{
		{`{"mcpServers":{"a":{"command":"x","args":["1","--","2"]},"u":{"url":"y"}}}`, ""},
		{`{"servers":{"a":{"args":[],"command":"x"}},"z":1}`, ""},
		{`{"mcpServers":{"a":{"command":"x"}}}`, `{"mcpServers":{"a":{"command":"x", "args": []}}}`},
	} {
		entries, err := serverEntries([]byte(row.config))
		if err != nil || len(entries) != 1 {
			t.Fatalf("%s: %+v, %v", row.config, entries, err)
		}
		e := entries[0]
		e.args = append([]string{"tap", "-o", "f", "--", e.command}, e.args...)
		e.command = "/bin/pipebench"
		text := e.writeInto([]byte(row.config))
		if entries, err = serverEntries(text); err != nil {
			t.Fatal(err)
		}
		own := entries[0]
		if !own.isWrapped() {
			t.Fatalf("%s would be wrapped twice", text)
		}
		own.unwrap()
		want := row.config
		if row.want != "" {
			want = row.want
		}
		if got := string(own.writeInto(text)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, bad := range []string{`{}`, `[]`, `{"mcpServers":{"a":{"command":7}}}`, `{`} {
		if _, err := serverEntries([]byte(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// Each object in a list of servers is a server of its own, also where two lists meet that have one
// of the same name.
func TestServersOfOneNameAreTwo(t *testing.T) {
	for config, want := range map[string][]string{
		`{"mcpServers":{"a":{"command":"x"}},"servers":{"a":{"command":"y"}}}`: {"x", "y"},

		`{"mcpServers":{"a":{"command":"x"},"a":{"args":[]},"a":{"command":"y"}}}`: {"x", "y"},

		`{"servers":{"a":["b","c"],"d":7,"e":{"command":"x","env":{"command":"other"}}}}`: {"x"},
	} {
		entries, err := serverEntries([]byte(config))
		if err != nil {
			t.Errorf("%s: %v", config, err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.command)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", config, diff)
		}
	}
}

type configured struct {
	Command string
	Args    []string
	Env     map[string]string
}

func readConfig(t *testing.T, path string) map[string]configured {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		MCPServers map[string]configured `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	return config.MCPServers
}
