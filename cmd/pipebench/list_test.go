package main

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipebench/pipebench/bench/placement"
)

func TestEveryNameHasALine(t *testing.T) {
	for _, s := range catalog(placement.Topology{}) {
		if len(s.items) == 0 {
			t.Errorf("--%s has nothing to offer", s.flag)
		}
		for _, i := range s.items {
			if i.what == "" {
				t.Errorf("--%s %s is not described", s.flag, i.name)
			}
		}
	}
}

// No text is of a name that is gone.
func TestEveryLineHasAName(t *testing.T) {
	used := map[string]bool{}
	for _, s := range catalog(placement.Topology{}) {
		for _, i := range s.items {
			used[s.flag+" "+i.what] = true
		}
	}
	for line := range strings.Lines(nameTexts) {
		flag, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, what, ok := strings.Cut(text, ": "); !ok || !used[flag+" "+what] {
			t.Errorf("nothing is called so: %s", line)
		}
	}
}

func TestTheListSaysWhatThisMachineLacks(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{"list"}, nil, &out, &out); code != exitDone {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	if !bytes.Contains(out.Bytes(), []byte("[unsupported:")) { // no machine has both a Windows pipe and a FIFO
		t.Errorf("everything is here:\n%s", out.String())
	}
}

// What a person reads is for a program too: every name once, in each format.
func TestTheListIsATableForPrograms(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{"list", "--format", "csv"}, nil, &out, &out); code != exitDone {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	topology, err := placement.Read()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"flag", "name", "what", "unsupported"}}
	for _, s := range catalog(topology) {
		for _, i := range s.items {
			want = append(want, []string{s.flag, i.name, i.what, i.unsupported})
		}
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("wanted (-), got (+):\n%s", diff)
	}
	for _, format := range []string{"json", "markdown"} {
		out.Reset()
		if code := run(t.Context(), []string{"list", "--format", format}, nil, &out, &out); code != exitDone || !strings.Contains(out.String(), "content-length") {
			t.Errorf("%s: exit %d:\n%s", format, code, out.String())
		}
	}
	if code := run(t.Context(), []string{"list", "--format", "bench"}, nil, &out, &out); code != exitUsage {
		t.Errorf("as a benchmark: exit %d", code)
	}
}

// The last of several names is completed by what list knows, and others by files.
func TestTheShellCompletesNames(t *testing.T) {
	for _, row := range []struct {
		args  []string
		wants string
	}{
		{[]string{"run", "--framing", "raw,"}, "raw,ndjson\t"},
		{[]string{"run", "--placement", ""}, "apart\t"},
		{[]string{"run", "--scenario", ""}, "reader-gone\t"},
		{[]string{"run", "--pattern", ""}, "roundtrip\t"},
		{[]string{"tune", "--objective", ""}, "latency\t"},
		{[]string{"claims", "--only", ""}, "000-pipe-buf\t"},
		{[]string{"serve", "--fault", ""}, "deaf@"},
		{[]string{"tap", "--out", ""}, ":0\n"}, // cobra's ShellCompDirectiveDefault
	} {
		var out bytes.Buffer
		run(t.Context(), append([]string{"__complete"}, row.args...), nil, &out, &out)
		if !strings.Contains(out.String(), row.wants) {
			t.Errorf("%v completes to:\n%s", row.args, out.String())
		}
	}
}
