package framers_test

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
)

// Errors go to peers and to users of commands, who do not know the options of a Go package.
func TestErrorsNameNoOption(t *testing.T) {
	for _, err := range []error{
		framers.ErrEmpty, framers.ErrNewline, framers.ErrSpace, framers.ErrReturn, framers.ErrLength,
		framers.ErrFrames, framers.ErrNoLength, framers.ErrBadLength, framers.ErrNegativeLength,
		framers.ErrHugeLength, framers.ErrTwoLengths, framers.ErrNoColon, framers.ErrHeaderBytes,
		framers.ErrHeaderLines, framers.ErrMalformed, framers.ErrIndex, framers.ErrTotal,
		framers.ErrDuplicate, framers.ErrInFlight, framers.ErrMissing, framers.ErrPacked,
		framers.ErrExpired, framers.ErrSeveralFrames,
		&framers.TooLargeError{Size: 9, Limit: 8, Offset: -1, Declared: true},
		&framers.TooLargeError{Size: 9, Limit: 8, Declared: true},
		&framers.TooLargeError{Size: 9, Limit: 8},
	} {
		if strings.Contains(err.Error(), "With") {
			t.Errorf("an option in the text: %v", err)
		}
	}
}
