package faults

import (
	"os"
	"testing"

	"github.com/pipebench/pipebench/bench"
)

func TestMain(m *testing.M) {
	bench.Worker()
	Worker()
	os.Exit(m.Run())
}
