package claims

import (
	"os"
	"testing"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/rules"
	"github.com/pipebench/pipebench/syspipe/proc"
)

func TestMain(m *testing.M) {
	proc.Main(bench.Jobs(), rules.Jobs(), faults.Jobs(), Jobs())
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each worker takes a second to exit under -race
	os.Exit(m.Run())
}
