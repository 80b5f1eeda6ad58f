package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/bench/placement"
)

func TestEveryNameIsDescribed(t *testing.T) {
	for _, list := range valueLists(placement.Topology{}) {
		if len(list.values) == 0 {
			t.Errorf("--%s has no names", list.flag)
		}
		for _, v := range list.values {
			if v.what == "" {
				t.Errorf("--%s %s is not described", list.flag, v.name)
			}
		}
	}
}

// A text whose name is gone is deleted with it.
func TestEveryDescriptionHasAName(t *testing.T) {
	known := map[string]bool{}
	for _, list := range valueLists(placement.Topology{}) {
		for _, v := range list.values {
			known[list.flag+" "+bareValue(v.name)] = true
		}
	}
	texts := map[string]map[string]string{"framing": framingTexts, "pipe": pipeTexts, "io": ioTexts}
	for flag, names := range texts {
		for name := range names {
			if !known[flag+" "+name] {
				t.Errorf("--%s has no %s, but it is described", flag, name)
			}
		}
	}
}

func TestHelpValuesSaysWhatThisMachineLacks(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{"help", "values"}, nil, &out, &out); code != exitDone {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	// no machine has both a Windows pipe and a FIFO
	for _, want := range []string{"--framing", "content-length", "[unsupported:"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in it:\n%s", want, out.String())
		}
	}
}

// The last of several names is completed from the lists, other flags by files.
func TestTheShellCompletesNames(t *testing.T) {
	for _, row := range []struct {
		args  []string
		wants string
	}{
		{[]string{"run", "--framing", "raw,"}, "raw,ndjson\t"},
		{[]string{"run", "--placement", ""}, "apart\t"},
		{[]string{"probe", "--failures", "--only", ""}, "reader-gone\t"},
		{[]string{"run", "--pattern", ""}, "roundtrip\t"},
		{[]string{"tune", "--objective", ""}, "latency\t"},
		{[]string{"probe", "--claims", "--only", ""}, "000-pipe-buf\t"},
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
