package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server that looks again at all it has of a message with each read is found to grow faster than
// linearly. What else the machine does bends a slope: one sweep of three has to see what none sees
// of a server that does not grow.
func TestDriveFindsQuadraticGrowth(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("the race detector makes what every byte costs ten times dearer: growth hides behind it")
	}
	for range 3 {
		folder := t.TempDir()
		cmd := command(t, commandEnv+"=1", "drive", "--capacity", "4KiB",
			"--size", "1MiB,1536KiB,2MiB,3MiB,4MiB", "--duration", "30ms",
			"--small-pipe", "none", "--max-time", "15m", "--no-progress", "--out", folder,
			"--", os.Args[0], "serve", "--fault", "quadratic")
		stdout, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v:\n%s", err, stdout)
		}
		records, err := os.ReadFile(filepath.Join(folder, "results.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(strings.Fields(string(stdout)), " "); strings.Contains(said, ": faster than linear; it shows from ") &&
			bytes.Contains(records, []byte(`"verdict":"grows faster than linear"`)) {
			return
		}
		t.Logf("not seen:\n%s", stdout)
	}
	t.Error("three sweeps did not find the growth")
}
