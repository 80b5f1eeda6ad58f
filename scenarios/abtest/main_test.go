package abtest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/pipebench/pipebench/scenarios/subrun/subruntest"
)

// fakeEnv makes this test binary a pipebench whose run command measures nothing: its value is what
// run does. Pairing is tested with it; the real binary is tested where the command is.
const fakeEnv = "PIPEBENCH_TEST_FAKE_RUN"

func TestMain(m *testing.M) {
	if how, fake := os.LookupEnv(fakeEnv); fake {
		os.Exit(fakeRun(how, os.Args))
	}
	os.Exit(m.Run())
}

// fakeRun leaves one record of 1,000 ns a message into the folder behind --out.
func fakeRun(how string, args []string) int {
	switch how {
	case "usage":
		fmt.Fprintln(os.Stderr, "pipebench: unknown flag: --zork")
		return 2
	case "nothing":
		return 0
	case "hang":
		for { // until it is killed
			time.Sleep(time.Hour)
		}
	}
	dir := args[len(args)-1]
	if err := subruntest.Fake(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// deadline bounds what a test of a child waits for.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
