package faults

import (
	"os"
	"testing"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/syspipe/proc"
)

func TestMain(m *testing.M) {
	proc.Main(bench.Jobs(), Jobs())
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each worker takes a second to exit under -race
	os.Exit(m.Run())
}
