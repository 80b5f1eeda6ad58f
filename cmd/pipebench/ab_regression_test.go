package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// planted is how much longer the reader takes in the slowed build, as a share. On a machine that
// does nothing else, 0.1 is found as well, ten times out of ten with the pairs that ab runs by
// itself:
//
//	go test -run TestABFindsAPlantedSlowDown ./cmd/pipebench -planted 0.1
//
// The default is for a machine that runs all tests at once.
var planted = flag.Float64("planted", 2, "the slow-down that ab has to find, as a share")

// drag is what the build does after each line where it is called slowed: it spins for a share of the time since it did
// so last. A message takes longer by that share at least: an end that uses more than its part of a
// CPU is also interrupted more often.
const drag = `package framers

import (
	"os"
	"strings"
	"time"
)

var (
	dragged    = time.Now()
	program, _ = os.Executable()
	slowed     = strings.HasSuffix(program, "slowed")
)

func drag() {
	if !slowed {
		return
	}
	worked := min(time.Since(dragged), time.Millisecond)
	for began := time.Now(); float64(time.Since(began)) < %g*float64(worked); {
	}
	dragged = time.Now()
}
`

// A build whose ndjson reader is slowed by a known share is found by ab, and the build beside
// itself is not.
func TestABFindsAPlantedSlowDown(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ends are placed on Linux alone")
	}
	if testing.Short() {
		t.Skip("builds the command")
	}
	folder := t.TempDir()
	clean, slowed := filepath.Join(folder, "clean"), filepath.Join(folder, "slowed")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", slowed, "-overlay", overlay(t, folder), ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if err := os.Link(slowed, clean); err != nil {
		t.Fatal(err)
	}
	pairs := "8"
	if *planted < 1 {
		pairs = "0" // as many as ab runs by itself
	}
	if !flagged(t, clean, slowed, pairs) {
		t.Error("the slowed build was not flagged")
	}
	// Chance flags one in forty builds that do not differ; twice in a row it is no chance.
	tries := 1
	for flagged(t, clean, clean, "8") { // eight that agree are enough for a verdict
		if tries++; tries > 2 {
			t.Fatal("a build beside itself was flagged twice")
		}
	}
}

// flagged reports whether ab calls the second build slower and exits as a gate that failed.
func flagged(t *testing.T, old, new, pairs string) bool {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"ab", old, new, "--pairs", pairs, "--fail-above", "5%", "--metric", "goodput", "--out", t.TempDir(),
		"--", "--framing", "ndjson", "--size", "64KiB", "--pattern", "stream", "--placement", "same", "--samples", "6", "--forks", "1"},
		strings.NewReader(""), &stdout, &stderr)
	t.Logf("%s%s", stdout.String(), stderr.String())
	slower := strings.Contains(stdout.String(), "slower")
	if (code == exitGate) != slower {
		t.Errorf("exit %d, though slower is %v", code, slower)
	}
	return slower
}

// overlay makes the file that tells go build of sources that are not in the tree: a reader of lines
// that calls drag, and drag itself.
func overlay(t *testing.T, folder string) string {
	t.Helper()
	framers, err := filepath.Abs(filepath.Join("..", "..", "framers"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(framers, "line.go"))
	if err != nil {
		t.Fatal(err)
	}
	const call = "line, err := r.line()\n"
	if strings.Count(string(text), call) != 1 {
		t.Fatalf("framers/line.go has no single %q to slow down", call)
	}
	replaced := map[string]string{
		filepath.Join(framers, "line.go"):    write(t, folder, "line.go", strings.Replace(string(text), call, call+"drag()\n", 1)),
		filepath.Join(framers, "planted.go"): write(t, folder, "planted.go", fmt.Sprintf(drag, *planted)),
	}
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	return write(t, folder, "overlay.json", string(list))
}

func write(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
