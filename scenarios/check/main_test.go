//go:build unix

package check_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/check"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// specimenEnv names, in the environment of a child process, which program the test binary is to be
// instead of testing.
const specimenEnv = "CHECK_TEST_SPECIMEN"

func TestMain(m *testing.M) {
	if name := os.Getenv(specimenEnv); name != "" {
		specimens[name].run()
		return
	}
	proc.Main()
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else what a test starts takes a second to exit
	flag.Parse()
	flag.Set("test.parallel", "6") // they mostly wait
	os.Exit(m.Run())
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// checks keeps the records of a side by their names.
func checks(t *testing.T, do func(check.Sink) error) map[string]results.Finding {
	t.Helper()
	found := map[string]results.Finding{}
	if err := do(func(l results.Line) error {
		c := l.(results.Finding)
		found[strings.TrimPrefix(c.ID, "check/program/")] = c
		t.Logf("%s: %s: %s", c.Name(), c.Verdict, c.Found)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

func program(t *testing.T, o check.Options) map[string]results.Finding {
	t.Helper()
	o.Run = runOf(t)
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second // for a machine that does much else
	}
	return checks(t, func(sink check.Sink) error { return check.Program(t.Context(), o, sink) })
}
