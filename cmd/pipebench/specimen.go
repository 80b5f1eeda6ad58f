package main

import (
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/scenarios/failures"
)

// newSpecimenCommand makes the hidden command "specimen". It runs one of the small faulty programs
// that "probe --failures" tests.
func newSpecimenCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "specimen NAME",
		Short:  "be a small program that is wrong in one way",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			signal.Reset() // signals end a specimen as they end any program
			return failures.RunSpecimen(args[0])
		},
	}
}
