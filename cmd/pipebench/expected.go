package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
)

// expectedFailures lists the situations in which a program is known to fail.
type expectedFailures struct {
	file  string   // the path of the list
	names []string // of the situations
}

// read reads the file. Each line names a situation in which a program, a server or a client is
// tested; # begins a comment.
func (e *expectedFailures) read(cmd *cobra.Command, side catalogue.Side) error {
	if e.file == "" {
		return nil
	}
	text, err := interruptibly(cmd.Context(), e.file, os.ReadFile)
	if err != nil {
		return err
	}
	known := catalogue.For(side)
	if side != catalogue.Program {
		// Servers and clients also fail if they leave processes behind.
		known = append(known, catalogue.Situation{Name: "left-behind"})
	}
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, "#")
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if _, err := catalogue.Find(known, name); err != nil {
			return usageError(
				fmt.Errorf("%s: no situation %q for a %s; %w", e.file, name, side, err))
		}
		e.names = append(e.names, name)
	}
	return nil
}

// judge changes the verdict on a situation in the list. A failure becomes an expected failure. A
// success becomes a failure, so that the user takes the situation off the list.
func (e *expectedFailures) judge(f results.Finding) results.Finding {
	_, name, _ := strings.Cut(f.Name(), "/")
	if !slices.Contains(e.names, name) {
		return f
	}
	switch f.Verdict {
	case results.Fails:
		f.Verdict = results.Expected
	case results.OK, results.Slow:
		f.Found = fmt.Sprintf("repaired (%s): %s", f.Verdict, f.Found)
		f.Verdict = results.Fails
		f.Class = ""
		f.Advice = "take what is repaired off " + e.file
		f.Reproduce = ""
	}
	return f
}
