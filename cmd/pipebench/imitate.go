package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe/probe"
)

// sayImitation says what a capacity that is named after another system does
// not imitate of that system's pipes.
func (f *sharedFlags) sayImitation(stderr io.Writer, capacities string) {
	ceiling, lacks, ok := probe.Imitation("darwin")
	if f.quiet || !ok || !slices.Contains(strings.Split(capacities, ","), "macos") {
		return
	}
	fmt.Fprintf(stderr, "capacity macos is that system's ceiling, %s, on this system's pipe, and no more: %s (documented, not measured here)\n",
		results.FormatSize(int64(ceiling)), lacks)
}
