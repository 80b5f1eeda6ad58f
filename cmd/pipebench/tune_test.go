package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// An earlier run is judged without measuring, by another objective too.
func TestTuneJudgesAnEarlierRun(t *testing.T) {
	file := filepath.Join("testdata", "screens", "tune.jsonl.gz")
	for _, row := range []struct {
		args []string
		says []string
	}{
		{nil, []string{
			"Chunks need a protocol that both ends speak: MCP and LSP have no chunks.",
			"use a pipe of 256 KiB",
		}},
		{[]string{"--objective", "latency", "--format", "json"},
			[]string{`"objective": "latency"`, `"capacity": 262144`}},
		{[]string{"--format", "markdown"}, []string{"| whole, usual pipe"}},
	} {
		var stdout, stderr bytes.Buffer
		args := append([]string{"tune", file}, row.args...)
		code := run(t.Context(), args, nil, &stdout, &stderr)
		said := strings.Join(strings.Fields(stdout.String()), " ")
		if code != exitDone {
			t.Errorf("%v: exit %d, %s", row.args, code, stderr.String())
		}
		for _, want := range row.says {
			if !strings.Contains(said, want) {
				t.Errorf("%v: no %q in\n%s", row.args, want, stdout.String())
			}
		}
	}
}

// A file that holds no run of tune is no answer, though it may have cells of the same settings.
func TestTuneOfAnotherRunIsRefused(t *testing.T) {
	for _, name := range []string{"check.jsonl.gz", "run.jsonl.gz"} {
		var stdout, stderr bytes.Buffer
		file := filepath.Join("testdata", "screens", name)
		code := run(t.Context(), []string{"tune", file}, nil, &stdout, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), "this is no run of tune") {
			t.Errorf("%s: exit %d: %s", name, code, stderr.String())
		}
	}
}
