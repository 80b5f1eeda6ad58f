package claims

import (
	"os"
	"testing"

	"github.com/pipebench/pipebench/bench"
)

func TestMain(m *testing.M) {
	bench.Worker()
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each worker takes a second to exit under -race
	os.Exit(m.Run())
}
