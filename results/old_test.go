package results_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// Lines of earlier versions say as findings what they said.
func TestOldLinesAsFindings(t *testing.T) {
	agrees := true
	tests := []struct {
		name string
		old  interface{ Finding() results.Finding }
		want results.Finding
	}{
		{
			"a rule",
			results.Probe{
				Run: "r", Pipe: "fifo", Step: "capacity/fill/4096", Value: 65536.0, Unit: "B",
				How: "fill it", Documented: "65536 B (pipe(7))", Agrees: &agrees,
			},
			results.Finding{
				Kind: "finding", Run: "r", ID: "rule/fifo/capacity/fill/4096", Title: "fill it",
				Verdict: results.Holds, Value: 65536.0, Unit: "B",
				Found:    "65536 B; documented: 65536 B (pipe(7))",
				Evidence: `{"documented":"65536 B (pipe(7))"}`,
			},
		},
		{
			"a rule that is not documented",
			results.Probe{Run: "r", Step: "slot", Value: "EAGAIN", How: "look"},
			results.Finding{
				Kind: "finding", Run: "r", ID: "rule/slot", Title: "look",
				Verdict: results.Noted, Value: "EAGAIN", Found: "EAGAIN",
			},
		},
		{
			"an experiment that hangs",
			results.Probe{Run: "r", Step: "slot", Value: "hangs"},
			results.Finding{
				Kind: "finding", Run: "r", ID: "rule/slot", Verdict: results.CannotTell, Value: "hangs", Found: "hangs",
			},
		},
		{
			"a failure",
			results.Fault{
				Run: "r", ID: "split-utf8/strict", Verdict: "silent-loss", Advice: "count",
				Evidence: `{"summary":"0 of 9 messages intact"}`,
			},
			results.Finding{
				Kind: "finding", Run: "r", ID: "failure/split-utf8/strict", Verdict: results.Fails,
				Class: "silent-loss", Found: "0 of 9 messages intact", Advice: "count",
				Evidence: `{"summary":"0 of 9 messages intact"}`,
			},
		},
		{
			"a disturbed machine",
			results.Fault{Run: "r", ID: "environment/cpus", Verdict: "2 CPUs", Advice: "wait"},
			results.Finding{
				Kind: "finding", Run: "r", ID: "machine/cpus", Verdict: results.Noted, Found: "2 CPUs", Advice: "wait",
			},
		},
		{
			"a claim",
			results.Claim{
				Run: "r", ID: "000-capacity", Seed: "000", Claim: "A pipe holds 64 KiB",
				Verdict: "holds", Figure: "65536 B", Why: "exactly that much",
			},
			results.Finding{
				Kind: "finding", Run: "r", ID: "claim/000-capacity", Title: "A pipe holds 64 KiB",
				Verdict: results.Holds, Found: "65536 B: exactly that much",
			},
		},
		{
			"a claim that cannot be tested",
			results.Claim{Run: "r", ID: "001-x", Verdict: "not-testable-here", Why: "no server"},
			results.Finding{
				Kind: "finding", Run: "r", ID: "claim/001-x", Verdict: results.CannotTell, Found: "no server",
			},
		},
		{
			"a check",
			results.Check{
				Run: "r", Side: "server", Name: "ids", Verdict: "slow", Found: "1 s", How: "ask",
				Command: []string{"a", "b"}, Reproduce: "echo | a b",
			},
			results.Finding{
				Kind: "finding", Run: "r", ID: "check/server/ids", Title: "ask", About: []string{"a", "b"},
				Verdict: results.Slow, Found: "1 s", Reproduce: "echo | a b",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.old.Finding()
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if err := got.Validate(); err != nil {
				t.Errorf("the finding is refused: %v", err)
			}
		})
	}
}

// Words of the file stand for verdicts only where they are verdicts, not inside a program's text.
func TestFreeTextOfOldChecksIsShownAsItIs(t *testing.T) {
	for found, want := range map[string]string{
		"deaf": "no reply, process alive",
		"deaf at a request of 65,537 B, where those of 65,536 B are answered": "no reply, " +
			"process alive at a request of 65,537 B, where those of 65,536 B are answered",
		"not served in any case: deaf": "not served in any case: no reply, process alive",
		"left after 7.60 ms: exit 0; 8 were answered": "left after 7.60 ms: " +
			"exited silently (code 0); 8 were answered",
		"cannot open /srv/deafness/in.log, exit 07": "cannot open /srv/deafness/in.log, exit 07",
		`says "deaf ears": exit 01`:                 `says "deaf ears": exit 01`,
	} {
		got := results.Check{Verdict: "fails", Found: found}.Finding().Found
		if got != want {
			t.Errorf("%q is shown as %q, want %q", found, got, want)
		}
	}
	fine := results.Check{Verdict: "ok", Found: "left after 5.90 ms: exit 0"}
	if got := fine.Finding().Found; got != "left after 5.90 ms: code 0" {
		t.Errorf("a program that did well: %q", got)
	}
}

// Lines that earlier versions of tune wrote are read as measurements, whatever they recommend.
func TestOldChunkSizesAreMeasurements(t *testing.T) {
	cell := resultstest.Cell("chunked:4096", 1<<20)
	cell.Drain = 200e6
	line := resultstest.Encoded(t, results.Tune{
		Run: "run-1", Time: resultstest.Time, Cell: cell, Warnings: []string{"the generator was late"},
		Samples: []results.Sample{{ElapsedNS: 1e6, Messages: 1, PayloadBytes: 1 << 20, Capacity: 65536}},
	})
	line = strings.Replace(line, `"warnings"`,
		`"recommended":true,"evidence":{"margin":0.1,"alike":[4096],"possible":[4096]},"warnings"`, 1)
	missing := resultstest.Encoded(t, results.Tune{
		Run: "run-1", Time: resultstest.Time, Cell: cell, Warnings: []string{"unsupported: no such pipe"},
	})
	unfinished := resultstest.Encoded(t, results.Tune{Run: "run-1", Time: resultstest.Time, Cell: cell})
	path := filepath.Join(t.TempDir(), results.FileName)
	if err := os.WriteFile(path, []byte(line+missing+unfinished), 0o666); err != nil {
		t.Fatal(err)
	}
	set, err := results.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Records) != 3 {
		t.Fatalf("%d records, problems %v", len(set.Records), set.Problems)
	}
	measured := set.Records[0]
	if measured.Cell != cell || measured.Run != "run-1" || !measured.Time.Equal(resultstest.Time) {
		t.Errorf("the cell or its run changed: %+v", measured)
	}
	if len(measured.Samples) != 1 || len(measured.Warnings) != 1 {
		t.Errorf("a sample or a warning is lost: %+v", measured)
	}
	if got := set.Records[1].Unsupported; got != "no such pipe" {
		t.Errorf("a chunk size that this system does not have: unsupported %q", got)
	}
	for _, r := range set.Records {
		if err := r.Validate(); err != nil {
			t.Errorf("%+v would not be written again: %v", r, err)
		}
	}
}
