package results_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
)

func TestSecretsOfCommandLinesAreHidden(t *testing.T) {
	for _, row := range []struct{ command, want []string }{
		{[]string{"server", "--env=API_KEY=S3"}, []string{"server", "--env=API_KEY=REDACTED"}},
		{[]string{"server", "--header=Authorization: Bearer S3"},
			[]string{"server", "--header=Authorization: REDACTED"}},
		{[]string{"curl", "-H", "X-Api-Key: S3"}, []string{"curl", "-H", "X-Api-Key: REDACTED"}},
		{[]string{"curl", "-H", "Accept: a; Cookie: a=S3; b=S3"},
			[]string{"curl", "-H", "Accept: a; Cookie: REDACTED"}},
		{[]string{"remote", "--header", "Authorization:Bearer-S3"},
			[]string{"remote", "--header", "Authorization:REDACTED"}},
		{[]string{"curl", "Authorization:", "S3"}, []string{"curl", "Authorization:", "REDACTED"}},
		{[]string{"server", "--passphrase", "S3"}, []string{"server", "--passphrase", "REDACTED"}},
		{[]string{"server", "--pass", "S3"}, []string{"server", "--pass", "REDACTED"}},
		{[]string{"server", "--token", "-S3"}, []string{"server", "--token", "REDACTED"}},
		{[]string{"server", "--auth", "--password", "S3"},
			[]string{"server", "--auth", "REDACTED", "REDACTED"}},
		{[]string{"server", "/token:S3", "/password", "S3"},
			[]string{"server", "/token:REDACTED", "/password", "REDACTED"}},
		{[]string{"server", "--password=S3 with blanks"},
			[]string{"server", "--password=REDACTED"}},
		{[]string{"token-server", "--api-key=S3", "-v"},
			[]string{"token-server", "--api-key=REDACTED", "-v"}},
		{[]string{"npx", "server", "--token", "S3", "--port", "80"},
			[]string{"npx", "server", "--token", "REDACTED", "--port", "80"}},
		{[]string{"env", "GITHUB_TOKEN=S3", "HOME=/root", "server"},
			[]string{"env", "GITHUB_TOKEN=REDACTED", "HOME=/root", "server"}},
		{[]string{"sh", "-c", "server --token S3 --port 80"},
			[]string{"sh", "-c", "server --token REDACTED --port 80"}},
		{[]string{"sh", "-c", "cd x; server --password='S3 S3' -v"},
			[]string{"sh", "-c", "cd x; server --password='REDACTED -v"}},
		{[]string{"sh", "-c", `curl -H "Authorization: Bearer S3" https://h`},
			[]string{"sh", "-c", `curl -H "Authorization: REDACTED" https://h`}},
		{[]string{"sh", "-c", `server --config "{\"apiKey\":\"S3\"}"`},
			[]string{"sh", "-c", `server --config "{\"apiKey\":\"REDACTED"`}},
		{[]string{"sh", "-c", "x 'API_KEY=S3 node server.js'"},
			[]string{"sh", "-c", "x 'API_KEY=REDACTED'"}},
		{[]string{"server", "--config", `{"port":1,"apiKey":"S3"}`},
			[]string{"server", "--config", `{"port":1,"apiKey":"REDACTED`}},
		{[]string{"server", `--config={"auth": {"user": "S3"}}`},
			[]string{"server", `--config={"auth": REDACTED`}},
		{[]string{"get", "https://h/?api_key=S3&x=1"},
			[]string{"get", "https://h/?api_key=REDACTED"}},
		{[]string{"get", "https://h/?to=https%3A%2F%2Fx%3Ftoken%3DS3"},
			[]string{"get", "https://h/?to=https%3A%2F%2Fx%3Ftoken%3DREDACTED"}},
		{[]string{"get", "https://user:p@S3@host/"}, []string{"get", "https://REDACTED@host/"}},
		{[]string{"get", "https://user:p/S3@host/"}, []string{"get", "https://REDACTED@host/"}},
		{[]string{"psql", "user=u password=S3 host=h"},
			[]string{"psql", "user=u password=REDACTED host=h"}},
		{[]string{"helm", "--set", "a=1,auth.password=S3,b=2"},
			[]string{"helm", "--set", "a=1,auth.password=REDACTED"}},
		{[]string{"curl", "-u", "me:S3", "https://h"},
			[]string{"curl", "-u", "REDACTED", "https://h"}},
		{[]string{"/usr/bin/wget", "-q", "-u", "S3"},
			[]string{"/usr/bin/wget", "-q", "-u", "REDACTED"}},
		{[]string{"curl", "--proxy-user", "S3"}, []string{"curl", "--proxy-user", "REDACTED"}},
		{[]string{"server", "-u", "me:S3"}, []string{"server", "-u", "REDACTED"}},
		{[]string{"sh", "-c", "x=$(curl -u S3 https://h)"},
			[]string{"sh", "-c", "x=$(curl -u REDACTED https://h)"}},
		{[]string{"mysql", "-pS3cret"}, []string{"mysql", "-pREDACTED"}},
		{[]string{"run", "hf_S3S3S3S3S3"}, []string{"run", "REDACTED"}},
		{[]string{"run", "sk-S3cret-0123456789"}, []string{"run", "REDACTED"}},
		{[]string{"run", "--with=sk-S3cret-0123456789"}, []string{"run", "--with=REDACTED"}},
		{[]string{"run", "S3aUq8yTn2LwPz5KvR7x"}, []string{"run", "REDACTED"}},
	} {
		got := results.HideSecrets(row.command)
		if !slices.Equal(got, row.want) {
			t.Errorf("%q\n got %q\nwant %q", row.command, got, row.want)
		}
		if again := results.HideSecrets(got); strings.Contains(strings.Join(again, " "), "S3") {
			t.Errorf("%q shows a secret when it is hidden again: %q", got, again)
		}
	}
}

func TestWhatIsNoSecretStays(t *testing.T) {
	for _, command := range [][]string{
		{"my-server", "--stdio", "-p", "80", "-p8080:80", "-print"},
		{"token-server", "-v"},
		{"npx", "-y", "@scope/server-auth@1.2.3", "/srv/data"},
		{"get", "https://host:80/path?a=b", "https://unpkg.com/pkg@1.2"},
		{"sh", "-c", "node server.js | tee log; exit 3"},
		{"pipebench", "drive", "--size", "1KiB,64KiB", "--find-limit", "--", "python3",
			"server.py"},
		{"python3", "-u", "server.py"},
		{"python3", "-u", filepath.Join(t.TempDir(), "9:30.py")},
		{"sh", "-c", "python3 -u server.py | sort -u names"},
		{"env", "-u", "PYTHONUNBUFFERED", "python3", "server.py"},
		{"/tmp/TestALongName1234567/001/server", "--config", `{"port":1,"name":"x"}`},
	} {
		if got := results.HideSecrets(command); !slices.Equal(got, command) {
			t.Errorf("%q became %q", command, got)
		}
	}
}

// Whoever writes a record, its command line has no secrets.
func TestRecordsHaveNoSecrets(t *testing.T) {
	secret := []string{"server", "--token", "S3", "-v"}
	line := "pipebench check -- server --token S3 -v"
	var out bytes.Buffer
	w := results.NewWriter(&out)
	for _, l := range []results.Line{
		results.Environment{Run: "r", Command: line},
		results.Target{
			Run: "r", Time: time.Unix(1, 0), Command: secret, Protocol: "mcp", Verdict: "ok",
		},
		results.Finding{Run: "r", Time: time.Unix(1, 0), ID: "check/program/y", About: secret,
			Verdict: results.OK, Found: "f", Reproduce: "(sleep 2; " + line + ") | head -1"},
		results.Finding{
			Run: "r", Time: time.Unix(1, 0), ID: "check/program/x", About: secret,
			Verdict: results.OK, Found: "f", Reproduce: line,
		},
	} {
		if err := w.Write(l); err != nil {
			t.Fatal(err)
		}
	}
	text := out.String()
	if strings.Contains(text, "S3") || strings.Count(text, results.Redacted) != 6 ||
		strings.Count(text, "-v") != 6 {
		t.Errorf("wrote %s", text)
	}
	if secret[2] != "S3" {
		t.Error("the caller's command line was changed")
	}
}

func TestFilesWithCommandLinesAreTheUsersOwn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such mode")
	}
	path := filepath.Join(t.TempDir(), "results.jsonl")
	if err := os.WriteFile(path, nil, 0o644); err != nil { // it is there, and others can read it
		t.Fatal(err)
	}
	w, err := results.Append(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "report.html")
	if err := results.ReplaceFile(page, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, page} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o, want 600", filepath.Base(p), mode)
		}
	}
}
