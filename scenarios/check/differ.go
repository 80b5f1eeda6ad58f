package check

import (
	"bytes"
	"fmt"

	"github.com/pipebench/pipebench/results"
)

// A difference is how an output departs from the expected one.
type difference struct {
	class string // "lost", which to send twice is too, "cut", "altered", "longer"; "" for none
	text  string // in words
	at    int    // the first byte that differs
}

// probe is how many bytes have to agree for a place to be recognised.
const probe = 32

// differ finds how got departs from want. An output that ends too soon is "lost" at its end.
func differ(want, got []byte) difference {
	at := samePrefix(want, got)
	if at == len(want) && at == len(got) {
		return difference{at: at}
	}
	rest := got[at:]
	where := "at byte " + results.FormatGrouped(int64(at))
	if len(rest) == 0 {
		return difference{"lost", fmt.Sprintf("lost %s %s", size(int64(len(want)-at)), where), at}
	}
	clue := rest[:min(probe, len(rest))]
	if bytes.HasPrefix(want, clue) && len(clue) == probe {
		return difference{"lost", fmt.Sprintf("sent again from the beginning %s", where), at}
	}
	if i := bytes.Index(want[at:], clue); i > 0 {
		return difference{"lost", fmt.Sprintf("lost %s %s", size(int64(i)), where), at}
	}
	if i := bytes.LastIndex(want[:at], clue); i >= 0 && len(clue) == probe {
		return difference{"lost", fmt.Sprintf("sent %s again %s", size(int64(at-i)), where), at}
	}
	return difference{"altered", "altered " + where, at}
}

// samePrefix counts the bytes that a and b begin with alike.
func samePrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
