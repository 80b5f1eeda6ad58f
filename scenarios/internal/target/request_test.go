package target

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// Characters are whole, whatever the size, and the request that they are a copy of stays as it was.
func TestRequestsWithCharacters(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 15, 16, 17, 30, 31, 32, 34, 35, 500, period, 2*period + 16} {
		r := newRequest("", "", size)
		before := bytes.Clone(r.msg)
		for shift := range 4 {
			c := r.WithCharacters(shift).Payload()
			hasSome := utf8.RuneCount(c) < len(c)
			fits := size >= 2*StampDigits+shift+len(characters)
			if len(c) != size || !utf8.Valid(c) || hasSome != fits || !bytes.Equal(r.msg, before) {
				t.Errorf("%d B, %d letters: %q", size, shift, c[:min(len(c), 60)])
			}
		}
	}
}
