package drive

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/results"
)

// Only a large message can be too large for a buffer, and what was not read was not lost.
func TestTheMessageBeforeAFailureIsBlamedForWhatItCanDo(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		size    int
		failure *results.FailureEvidence
		want    string
	}{
		{4000, nil, "lose what came behind"},
		{4000, &results.FailureEvidence{}, "lose what came behind"},
		{194, nil, "message 3 makes the difference"},
		{150_159, &results.FailureEvidence{Unsent: true}, "stopped reading in message 3"},
	} {
		cause := recorded{Message: payload.Message{Size: row.size}, number: 3}
		if got := adviceOnCause(cause, row.failure); !strings.Contains(got, row.want) {
			t.Errorf("%d B: %q, want %q in it", row.size, got, row.want)
		}
	}
}
