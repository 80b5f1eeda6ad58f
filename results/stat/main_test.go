package stat

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets the heap grow further before it is collected: it is small, and simulations make
// much garbage.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
