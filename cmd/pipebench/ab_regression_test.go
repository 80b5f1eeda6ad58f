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
	"time"

	"github.com/pipebench/pipebench/results/stat"
)

// How much ab finds, and how much it finds that is not there, is shown on a machine that does nothing
// else, with the pairs that ab runs by itself:
//
//	go test ./cmd/pipebench -run TestABFindsAPlantedSlowDown -v -timeout 30m -planted 0.05 -tries 10
//	go test ./cmd/pipebench -run TestABFindsNothingInOneBinary -v -timeout 60m -comparisons 100
//
// The defaults are for a machine that runs all tests at once.
var (
	planted     = flag.Float64("planted", 2, "how much longer the reader of the slowed build takes, as a share")
	tries       = flag.Int("tries", 1, "how often ab is to find that")
	comparisons = flag.Int("comparisons", 0, "how many cells ab is to compare of one binary with itself")
)

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
// itself is not. What the reader of the command is built of besides, all that shows and draws, would
// have to be built again with it.
func TestABFindsAPlantedSlowDown(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ends are placed on Linux alone")
	}
	if testing.Short() {
		t.Skip("builds a program")
	}
	folder := t.TempDir()
	clean, slowed := filepath.Join(folder, "clean"), filepath.Join(folder, "slowed")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", slowed,
		"-overlay", overlay(t, folder), "./testdata/measurer").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if err := os.Link(slowed, clean); err != nil {
		t.Fatal(err)
	}
	// On a busy machine eight pairs may be too few for a verdict. A user then runs more of them.
	pairs := []string{"8", "24", "72"}
	if *planted < 1 {
		pairs = []string{"0"} // as many as ab runs by itself
	}
	found, longest := 0, time.Duration(0)
	for range *tries {
		began := time.Now()
		for _, n := range pairs {
			if flagged(t, clean, slowed, n) {
				found++
				break
			}
		}
		longest = max(longest, time.Since(began))
	}
	t.Logf("a slow-down of %g %% was found in %d of %d tries, the longest of %.0f s", 100**planted, found, *tries, longest.Seconds())
	if 10*found < 8**tries {
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

// One binary beside itself differs in nothing, whatever chance may say: of a hundred comparisons five
// at most may have a verdict.
func TestABFindsNothingInOneBinary(t *testing.T) {
	if *comparisons == 0 {
		t.Skip("no number of -comparisons was given")
	}
	program := filepath.Join(t.TempDir(), "pipebench")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	compared, wrong, calls := 0, 0, 0
	for ; compared < *comparisons; calls++ {
		_, out := compareBuilds(t, program, program, "0", calls, "--format", "json",
			"--", "--framing", "raw,ndjson,content-length,length-prefix", "--size", "4KiB,64KiB")
		var c stat.Comparison
		if err := json.Unmarshal([]byte(out), &c); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		for _, change := range c.Changes {
			if compared++; change.Established() {
				wrong++
				t.Logf("%s: %s, ratio %.3f of %d pairs", change.Name, change.Verdict, *change.Ratio, c.Pairs)
			}
		}
	}
	t.Logf("of one binary %d of %d comparisons had a verdict, in %d calls", wrong, compared, calls)
	if 100*wrong > 5*compared {
		t.Error("too many: the level does not hold")
	}
}

// flagged reports whether ab calls the second build slower and exits as a gate that failed.
func flagged(t *testing.T, old, new, pairs string) bool {
	t.Helper()
	code, out := compareBuilds(t, old, new, pairs, 1, "--fail-above", "5%", "--", "--framing", "ndjson", "--size", "64KiB", "--samples", "6", "--forks", "1")
	slower := strings.Contains(out, "got slower:")
	if (code == exitGate) != slower && *planted >= 1 { // what is less than 5 % may be found, and pass
		t.Errorf("exit %d, though slower is %v", code, slower)
	}
	return slower
}

// compareBuilds runs ab on streams of one CPU, and returns its exit code and what it printed.
func compareBuilds(t *testing.T, old, new, pairs string, seed int, args ...string) (code int, out string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args = append([]string{"compare", old, new, "--pairs", pairs, "--seed", fmt.Sprint(seed), "--metric", "goodput", "--out", t.TempDir()}, args...)
	code = run(t.Context(), append(args, "--pattern", "stream", "--placement", "same"), strings.NewReader(""), &stdout, &stderr)
	t.Logf("%s%s", stdout.String(), stderr.String())
	return code, stdout.String()
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
	const call = "line, err := r.take(n, ended)\n"
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
