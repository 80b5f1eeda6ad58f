package claims

import (
	"os"
	"testing"

	"github.com/pipebench/pipebench/bench"
)

func TestMain(m *testing.M) {
	bench.Worker()
	os.Exit(m.Run())
}
