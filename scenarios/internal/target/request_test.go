package target

import (
	"testing"
	"unicode/utf8"
)

// Payloads are whole characters, whatever their size.
func TestPayloadsAreWholeCharacters(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 2, 3, 15, 16, 17, 18, 19, 20, 500, period - 1, period,
		period + 1, 2*period + 16, 3*period + 17, 3*period + 18, 3*period + 19} {
		payload := newRequest("", "", size).Payload()
		if len(payload) != size || !utf8.Valid(payload) {
			t.Errorf("%d B: %q", size, payload[:min(len(payload), 60)])
		}
	}
}
