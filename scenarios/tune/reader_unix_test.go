//go:build unix

package tune

import (
	"strings"
	"testing"
)

// A program that throws its input away spends less per byte than one that works on it.
func TestAReaderThatWorksCostsMore(t *testing.T) {
	idle, err := MeasureReader(t.Context(), 100_000, "sh", "-c", "exec cat >/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	busy, err := MeasureReader(t.Context(), 100_000, "sh", "-c", "exec od -An -tx1 >/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	if busy < 3*idle || busy < 1 {
		t.Errorf("od spends %.2f ns per byte, cat %.2f", busy, idle)
	}
}

func TestAReaderThatDoesNotReadIsRefused(t *testing.T) {
	for name, row := range map[string]struct{ command, want string }{
		"it ends at once": {"exit 0", "has to read all of it"},
		"it fails":        {"exit 3", "failed"},
		"it is not there": {"exec /no/such/program", "failed"},
	} {
		_, err := MeasureReader(t.Context(), 1_000_000, "sh", "-c", row.command)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := MeasureReader(t.Context(), 1000, "/no/such/program"); err == nil {
		t.Error("a command that does not exist was measured")
	}
}
