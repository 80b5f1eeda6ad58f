package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench/machine"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "pipebench",
		Short: "Measure the pipes that programs talk through",
		Long: `pipebench drives framings (newline-delimited JSON, Content-Length headers, chunk
frames) through real pipes of this operating system, and says what each costs.`,
		Version:       machine.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(unknownCommand(cmd, args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
	})
	root.AddCommand(newRun(), newProbe(), newProfile(), newInspect(), newPlot(), newServe(), newCall(), newDrive(), newTap(), newTune(), newClaims(), newCompare(), newAB(), newDoctor(), newReport(), newList())
	return root
}

func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q; known are %s", name, strings.Join(names, ", "))
}

// files demands at least one argument, a results file each.
func files(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage(errors.New("which file? give the results.jsonl of one run or more"))
	}
	return nil
}

// noArguments demands that there are none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Errorf("%s takes no arguments, but was given %q; see %[1]s --help", cmd.CommandPath(), args[0]))
	}
	return nil
}
