package doctor

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/pipebench/pipebench/scenarios/turns/turnstest"
)

// fakeEnv makes this test binary a pipebench whose run command measures nothing. Invocations are
// tested with it; the real binary is tested where the command is.
const fakeEnv = "PIPEBENCH_TEST_FAKE_RUN"

func TestMain(m *testing.M) {
	if _, fake := os.LookupEnv(fakeEnv); fake {
		if err := turnstest.Fake(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
