package results

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestLineAboveTheBoundIsReadPast(t *testing.T) {
	const text = "short\nthis line is far too long\nok\nlast"
	l := &lineReader{r: bufio.NewReaderSize(strings.NewReader(text), 16), max: 10}
	var got []string
	for {
		line, torn, err := l.next()
		if err == io.EOF {
			break
		}
		switch {
		case errors.Is(err, errLongLine):
			got = append(got, "long")
		case err != nil:
			t.Fatal(err)
		case torn:
			got = append(got, string(line)+" (torn)")
		default:
			got = append(got, string(line))
		}
	}
	if want := "short|long|ok|last (torn)"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
}
