package target

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// Characters are whole, whatever the size, and the request that they are a copy of stays as it was.
func TestRequestsWithCharacters(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 15, 16, 17, 34, 35, 36, 500, period, 2*period + 16} {
		r := newRequest("", "", size)
		before := bytes.Clone(r.msg)
		c := r.WithCharacters().Payload()
		hasSome := utf8.RuneCount(c) < len(c)
		fits := size >= 2*StampDigits+len(characters)
		if len(c) != size || !utf8.Valid(c) || hasSome != fits || !bytes.Equal(r.msg, before) {
			t.Errorf("%d B: %q", size, c[:min(len(c), 60)])
		}
	}
}
