package drive

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/bench/payload"
)

// Only a large message can be too large for a buffer.
func TestTheMessageBeforeAFailureIsBlamedForWhatItCanDo(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		size int
		want string
	}{
		{4000, "lose what came behind"},
		{194, "message 3 makes the difference"},
	} {
		cause := recorded{Message: payload.Message{Size: row.size}, number: 3}
		if got := adviceOnCause(cause); !strings.Contains(got, row.want) {
			t.Errorf("%d B: %q, want %q in it", row.size, got, row.want)
		}
	}
}
