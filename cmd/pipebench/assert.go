package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/spf13/cobra"
)

// assertFlags are the conditions that the figures of a command have to meet.
type assertFlags struct{ asserts []string }

// registerAsserts says in the help what the conditions are about.
func (f *assertFlags) registerAsserts(cmd *cobra.Command, usage string) {
	cmd.Flags().StringArrayVar(&f.asserts, "assert", nil, usage+"; may be repeated")
}

// parsed reads the conditions before anything is measured.
func (f *assertFlags) parsed() ([]stat.Assert, error) { return parseAsserts(f.asserts) }

func parseAsserts(texts []string) ([]stat.Assert, error) {
	var out []stat.Assert
	for _, text := range texts {
		a, err := stat.ParseAssert(text)
		if err != nil {
			return nil, fmt.Errorf("--assert: %w", err)
		}
		out = append(out, a)
	}
	return out, nil
}

// judged prints how each assertion turned out, where a person reads the rest
// too, else beside it, and gives the command its end: a failed gate where one
// fails, no verdict where none fails and one cannot be told.
func judged(cmd *cobra.Command, format string, asserts []stat.Assert, judge func(stat.Assert) stat.Assertion) error {
	w := beside(cmd, format)
	texts := make(map[stat.AssertOutcome][]string)
	for _, a := range asserts {
		j := judge(a)
		if _, err := fmt.Fprintln(w, "assert", j); err != nil {
			return err
		}
		texts[j.Outcome] = append(texts[j.Outcome], j.Assert)
	}
	switch {
	case len(texts[stat.Fails]) > 0:
		return &statusError{exitGate, fmt.Errorf("not as asserted: %s", strings.Join(texts[stat.Fails], ", "))}
	case len(texts[stat.CannotTell]) > 0:
		return &statusError{exitInconclusive, fmt.Errorf("it cannot be told whether %s: see above", strings.Join(texts[stat.CannotTell], ", "))}
	}
	return nil
}

// beside is where what belongs to the results goes: with them where a person
// reads them, and not where a program does.
func beside(cmd *cobra.Command, format string) io.Writer {
	if format == string(view.FormatTable) || format == string(view.FormatMarkdown) {
		return cmd.OutOrStdout()
	}
	return cmd.ErrOrStderr()
}

// allGates joins what several gates say. One that failed decides the exit code,
// before one without a verdict.
func allGates(errs ...error) error {
	slices.SortStableFunc(errs, func(a, b error) int { return gateRank(a) - gateRank(b) })
	return errors.Join(errs...)
}

func gateRank(err error) int {
	var status *statusError
	if errors.As(err, &status) && status.code == exitGate {
		return 0
	}
	return 1
}
