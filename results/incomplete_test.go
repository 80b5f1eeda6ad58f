package results_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// aRun is the file of a run of a fleet: an environment, and a measurement of each size.
func aRun(t *testing.T, host string, began time.Time, sizes ...int) string {
	t.Helper()
	env := resultstest.Environment()
	env.Run, env.Hostname, env.Time = "run-of-"+host, host, began
	env.Topology = "2 CPUs"
	env.Command = "pipebench run --framing ndjson --out -"
	text := resultstest.Encoded(t, env)
	for _, size := range sizes {
		r := resultstest.Record(resultstest.Cell("ndjson", size), int64(size)+1, 100)
		r.Run, r.Time = env.Run, began.Add(time.Second)
		text += resultstest.Encoded(t, r)
	}
	return text
}

// Of a fleet some machines fail, each in its way. All that came from them is read, each failure is
// one problem, and the set knows that measurements are missing.
func TestAFleetIsReadWithoutWhatItsMachinesDidNotSend(t *testing.T) {
	noon := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	whole := aRun(t, "whole", noon, 256, 4096)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(aRun(t, "cut", noon, 256, 4096)))
	z.Close()
	unpacked := packed.Len() - 4 // without the end of its checksum
	for _, tt := range []struct {
		name, file, text string
		records          int      // beside the two of the whole file
		want             []string // problems
		incomplete       bool
	}{
		{"a machine that never answered", "gone.jsonl", "", 0,
			[]string{"gone.jsonl: no results: the file is empty"}, true},
		{"a node that died in a line", "torn.jsonl",
			strings.TrimSuffix(aRun(t, "torn", noon, 256, 4096), "}\n"), 1,
			[]string{"torn.jsonl:3: torn line skipped", "run run-of-t of torn ended early"}, true},
		{"a node that died between lines", "died.jsonl", aRun(t, "died", noon, 256), 1,
			[]string{"run run-of-d of died ended early: it has 1 of the 2 cells"}, true},
		{"a compressed file that was cut", "cut.jsonl.gz", packed.String()[:unpacked], 2,
			[]string{"cut.jsonl.gz:4: unexpected EOF"}, true},
		{"a compressed file that is none", "none.jsonl.gz", "text", 0,
			[]string{"none.jsonl.gz: "}, true},
		{"a clock hours behind", "late.jsonl", aRun(t, "late", noon.Add(-5*time.Hour), 256, 4096),
			2, nil, false},
		{"a clock that was never set", "unset.jsonl", aRun(t, "unset", time.Unix(0, 0).UTC(), 256,
			4096), 2, nil, false},
		{"a newer version", "newer.jsonl",
			strings.Replace(aRun(t, "newer", noon, 256, 4096), `"schema":1`, `"schema":2`, 1), 2,
			[]string{"newer.jsonl:1: schema 2 is newer"}, false},
		{"messages of an engine between the lines", "noisy.jsonl",
			"Warning: Permanently added 'web7'\n" + aRun(t, "noisy", noon, 256, 4096), 2,
			[]string{"noisy.jsonl:1: not a line of a results file"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"a.jsonl": whole, tt.file: tt.text} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			set, err := results.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			if len(set.Records) != 2+tt.records {
				t.Errorf("%d records, want %d", len(set.Records), 2+tt.records)
			}
			if set.Incomplete() != tt.incomplete {
				t.Errorf("incomplete %v, want %v", set.Incomplete(), tt.incomplete)
			}
			if len(set.Problems) != len(tt.want) {
				t.Fatalf("problems %v, want %q", set.Problems, tt.want)
			}
			for i, p := range set.Problems {
				got := strings.TrimPrefix(p.String(), dir+string(filepath.Separator))
				if !strings.HasPrefix(got, tt.want[i]) {
					t.Errorf("problem %q, want %q", got, tt.want[i])
				}
			}
		})
	}
}

// A path that was typed and leads nowhere is a mistake, and no machine that failed.
func TestAFileThatWasNamedHasToBeThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.jsonl")
	text := aRun(t, "a", time.Unix(1e9, 0).UTC(), 256)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := results.Read(path, filepath.Join(dir, "b.jsonl"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that b.jsonl does not exist", err)
	}
}

// Runs that measure something else, elsewhere or by another version have no cells in common.
func TestARunIsShortBesideItsLikeAlone(t *testing.T) {
	began := time.Unix(1e9, 0).UTC()
	long := aRun(t, "long", began, 256, 4096)
	short := aRun(t, "short", began, 256)
	for _, change := range []struct{ from, to string }{
		{"--framing ndjson", "--framing raw"},
		{`"topology":"2 CPUs"`, `"topology":"1 CPU"`},
		{`"os":"linux"`, `"os":"darwin"`},
		{`"version":"`, `"version":"0`},
	} {
		other := strings.Replace(short, change.from, change.to, 1)
		if set := readText(t, long+other); other == short || set.Incomplete() {
			t.Errorf("%s: %v", change.to, set.Problems)
		}
	}
	plain := strings.Replace(long+short, " --framing ndjson --out -", "", 2)
	elsewhere := strings.Replace(long+short, "--out -", "-o out/a", 1)
	labelled := strings.Replace(long+short, "--out -", "--out - --label node=a", 1)
	for _, text := range []string{plain, elsewhere, labelled} {
		if set := readText(t, text); !set.Incomplete() {
			t.Errorf("a short run is not named: %.400s", text)
		}
	}
	tunes := strings.ReplaceAll(long+short, "pipebench run", "pipebench tune")
	if set := readText(t, tunes); set.Incomplete() {
		t.Errorf("tune, which measures as much as it needs: %v", set.Problems)
	}
}

// readText reads one file of this text.
func readText(t *testing.T, text string) *results.Set {
	t.Helper()
	path := filepath.Join(t.TempDir(), results.FileName)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	set, err := results.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return set
}
