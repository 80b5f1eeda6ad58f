package rules

import (
	"fmt"
	"strconv"
	"strings"
)

// A Step is one question of an experiment: "how much is accepted in writes of N bytes?".
type Step struct {
	Name string // "capacity/fill"
	N    int    // a size, 0 if there is none
	text string // as in a file, if that is not Name/N
}

// String returns the step as files have it.
func (s Step) String() string {
	switch {
	case s.text != "":
		return s.text
	case s.N != 0:
		return s.Name + "/" + strconv.Itoa(s.N)
	}
	return s.Name
}

// interleaved is the step in which writes of size bytes are read in pieces of read bytes.
func interleaved(size, read int) Step {
	return Step{"interleave", size, fmt.Sprintf("interleave/%d/read-%d", size, read)}
}

// brokenAfter is a step in which the reader takes some bytes of a write and leaves.
func brokenAfter(taken int, part string) Step {
	return Step{"broken/after/" + part, taken, fmt.Sprintf("broken/after-%d/%s", taken, part)}
}

// ParseStep reads a step as files have it.
func ParseStep(text string) Step {
	parts := strings.Split(text, "/")
	last := parts[len(parts)-1]
	if len(parts) == 3 && parts[0] == "interleave" {
		size, _ := strconv.Atoi(parts[1])
		return Step{"interleave", size, text}
	}
	if taken, ok := strings.CutPrefix(text, "broken/after-"); ok {
		number, part, _ := strings.Cut(taken, "/")
		n, _ := strconv.Atoi(number)
		return Step{"broken/after/" + part, n, text}
	}
	if n, err := strconv.Atoi(last); err == nil {
		return Step{Name: strings.TrimSuffix(text, "/"+last), N: n, text: text}
	}
	return Step{Name: text}
}
