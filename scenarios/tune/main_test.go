package tune

import (
	"os"
	"testing"

	"github.com/pipebench/pipebench/bench"
)

func TestMain(m *testing.M) {
	bench.Worker() // the engine starts this test binary again
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0") // else each worker of a -race build lingers for a second
	}
	os.Exit(m.Run())
}
