package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server that looks again at all it has of a message with each read is found to grow faster than
// linearly. What else the machine does bends a slope, so this test runs beside no other of its
// package, and one sweep of three has to see what none sees of a server that does not grow.
func TestDriveFindsQuadraticGrowth(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes what every byte costs ten times dearer: growth hides behind it")
	}
	t.Setenv(commandEnv, "1")
	for range 3 {
		folder := t.TempDir()
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"drive", "--capacity", "4KiB", "--size", "512KiB,768KiB,1MiB,1536KiB,2MiB,3MiB,4MiB",
			"--duration", "30ms", "--small-pipe", "none", "--no-progress", "--out", folder, "--", os.Args[0], "serve", "--fault", "quadratic"},
			strings.NewReader(""), &stdout, &stderr)
		if code != 0 {
			t.Fatalf("exit %d: %s", code, stderr.String())
		}
		records, err := os.ReadFile(filepath.Join(folder, "results.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(strings.Fields(stdout.String()), " "); strings.Contains(said, ": faster than linear; it shows from ") &&
			bytes.Contains(records, []byte(`"verdict":"grows faster than linear"`)) {
			return
		}
		t.Logf("not seen:\n%s", stdout.String())
	}
	t.Error("three sweeps did not find the growth")
}
