package claims

import (
	"os"
	"testing"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/scenarios/faults"
)

func TestMain(m *testing.M) {
	bench.Worker()
	faults.Worker()
	Worker()
	os.Exit(m.Run())
}
