//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// An actionRun is how the script of the action ended.
type actionRun struct {
	code            int
	printed         string
	summary, output string // what it told the job
}

// runAction runs the script of action.yml with settings such as "RUN=check -- cat".
func runAction(t *testing.T, settings ...string) actionRun {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	folder := t.TempDir()
	summary, output := filepath.Join(folder, "summary"), filepath.Join(folder, "output")
	script, err := filepath.Abs(filepath.Join("..", "..", ".ci", "action"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", script)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "RUNNER_TEMP="+folder, "RUNNER_OS=Linux", "RUNNER_ARCH=X64",
		"GITHUB_STEP_SUMMARY="+summary, "GITHUB_OUTPUT="+output, "VERSION=latest", "BINARY=",
		"no_proxy=*") // releases are served on this machine
	cmd.Env = append(cmd.Env, settings...)
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
		return string(text)
	}
	return actionRun{cmd.ProcessState.ExitCode(), string(said), read(summary), read(output)}
}

// The verdict of a command stands in the summary of the job, and its records in a folder.
func TestActionShowsTheVerdict(t *testing.T) {
	run := runAction(t, commandEnv+"=1", "PIPEBENCH_RECORDS_ONLY=1", "BINARY="+os.Args[0],
		`RUN=check --only stdin-empty --timeout 1m -- sh -c 'echo "two  words"'`)
	if run.code != 0 || !strings.Contains(run.summary, "PASS: ok 1 of 1") {
		t.Fatalf("exit %d:\n%s\nsummary:\n%s", run.code, run.printed, run.summary)
	}
	_, folder, found := strings.Cut(run.output, "results=")
	folder, _, _ = strings.Cut(folder, "\n")
	if !found || !strings.HasPrefix(run.output, "exit-code=0\n") {
		t.Fatalf("output:\n%s", run.output)
	}
	if _, err := os.Stat(filepath.Join(folder, "results.jsonl")); err != nil {
		t.Error(err)
	}
}

// The summary is for people, whatever format the command prints.
func TestActionShowsTheVerdictBesideAFormatForPrograms(t *testing.T) {
	run := runAction(t, commandEnv+"=1", "PIPEBENCH_RECORDS_ONLY=1", "BINARY="+os.Args[0],
		"RUN=check --format junit --only stdin-empty --timeout 1m -- cat")
	if run.code != 0 || !strings.Contains(run.summary, "PASS: ok 1 of 1") {
		t.Fatalf("exit %d:\n%s\nsummary:\n%s", run.code, run.printed, run.summary)
	}
}

// What compare of two commands keeps lies in the same place, even if another command makes a folder
// meanwhile.
func TestActionKeepsAComparison(t *testing.T) {
	binary := program(t, "mkdir -p pipebench-out/now pipebench-out/other && "+
		"echo > pipebench-out/now/results.jsonl && "+
		"echo 'saved in pipebench-out/now: results.jsonl, report.html' >&2")
	run := runAction(t, "BINARY="+binary, "RUN=compare ./old ./new")
	_, folder, _ := strings.Cut(run.output, "results=")
	folder, _, _ = strings.Cut(folder, "\n")
	if _, err := os.Stat(filepath.Join(folder, "results.jsonl")); err != nil {
		t.Errorf("%v: %+v", err, run)
	}
}

// A format that programs read is kept in a file, and is no text for the summary.
func TestActionKeepsWhatProgramsRead(t *testing.T) {
	binary := program(t, `echo "$@"; echo why >&2; exit 3`)
	run := runAction(t, "BINARY="+binary, "RUN=check --format junit -- cat")
	_, printed, _ := strings.Cut(run.output, "printed=")
	text, err := os.ReadFile(strings.TrimSpace(printed))
	if err != nil {
		t.Fatal(err)
	}
	if run.summary != "why\n" || strings.Contains(string(text), "markdown") ||
		!strings.HasSuffix(string(text), "--format junit -- cat\n") {
		t.Errorf("%+v, printed %s", run, text)
	}
}

// program makes a program that takes the place of pipebench. Another process writes it: while this
// one had it open, a child that starts meanwhile could keep it from being run.
func program(t *testing.T, text string) string {
	t.Helper()
	folder := t.TempDir()
	draft, path := filepath.Join(folder, "draft"), filepath.Join(folder, "pipebench")
	if err := os.WriteFile(draft, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("cp", draft, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return path
}

// A gate that fails ends the job, and no verdict is a warning.
func TestActionPassesOnTheExitStatus(t *testing.T) {
	for code, want := range map[int]struct {
		code int
		says string
	}{
		1: {1, "::error title=pipebench::why"},
		3: {3, "::error title=pipebench::why"},
		4: {0, "::warning title=pipebench::why"},
	} {
		const text = "echo verdict; printf 'pipebench: why\\n\\ttrace: 238\\n' >&2; exit %d"
		binary := program(t, fmt.Sprintf(text, code))
		run := runAction(t, "BINARY="+binary, "RUN=compare a b")
		if run.code != want.code || !strings.Contains(run.printed, want.says) ||
			run.summary != "verdict\n" ||
			!strings.HasPrefix(run.output, fmt.Sprintf("exit-code=%d\n", code)) {
			t.Errorf("%d: %+v", code, run)
		}
	}
}

// A command that prints no result has its message in the summary.
func TestActionShowsWhyThereIsNoResult(t *testing.T) {
	binary := program(t, "echo 'pipebench: why' >&2; exit 1")
	run := runAction(t, "BINARY="+binary, "RUN=compare a b")
	if run.summary != "pipebench: why\n" {
		t.Errorf("%+v", run)
	}
}

// The binary is that of a release, and nothing runs that is not what the release says.
func TestActionChecksWhatItDownloads(t *testing.T) {
	for _, tool := range []string{"curl", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	if _, err := exec.LookPath("shasum"); err != nil && runtime.GOOS != "linux" {
		t.Skip(err)
	}
	archive := packed(t, "#!/bin/sh\necho downloaded\n")
	sum := fmt.Sprintf("%x", sha256.Sum256(archive))
	served := func(sum string) string {
		const file = "pipebench_linux_amd64.tar.gz"
		mux := http.NewServeMux()
		mux.HandleFunc("/download/v9/"+file, func(w http.ResponseWriter, _ *http.Request) {
			w.Write(archive)
		})
		mux.HandleFunc("/download/v9/SHA256SUMS", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "%s  other\n%s  %s\n", sum, sum, file)
		})
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		return "RELEASES=" + server.URL
	}
	run := runAction(t, served(sum), "VERSION=v9", "RUN=probe")
	if run.code != 0 || run.summary != "downloaded\n" {
		t.Errorf("%+v", run)
	}
	run = runAction(t, served(strings.Repeat("0", len(sum))), "VERSION=v9", "RUN=probe")
	if run.code == 0 || run.summary != "" {
		t.Errorf("with a wrong checksum: %+v", run)
	}
}

// packed returns an archive like those of a release.
func packed(t *testing.T, program string) []byte {
	t.Helper()
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	files := tar.NewWriter(compressed)
	header := &tar.Header{Name: "pipebench", Mode: 0o755, Size: int64(len(program))}
	if err := files.WriteHeader(header); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write([]byte(program)); err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}
