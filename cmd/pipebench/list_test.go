package main

import (
	"bytes"
	"testing"

	"github.com/pipebench/pipebench/bench/placement"
)

func TestEveryNameHasALine(t *testing.T) {
	for _, s := range shelves(placement.Topology{}) {
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

func TestTheListSaysWhatThisMachineLacks(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{"list"}, nil, &out, &out); code != exitDone {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	if !bytes.Contains(out.Bytes(), []byte("[not here:")) { // no machine has both a Windows pipe and a FIFO
		t.Errorf("everything is here:\n%s", out.String())
	}
}
