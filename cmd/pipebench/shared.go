package main

import (
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results/view"
	"github.com/spf13/cobra"
)

// sharedFlags are those that mean the same for every command that has them.
type sharedFlags struct {
	out        string
	format     string
	quiet      bool
	noProgress bool
	seed       int64
}

func (f *sharedFlags) register(cmd *cobra.Command, out string) {
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", out)
	registerFormat(cmd, &f.format)
	flags.BoolVar(&f.quiet, "quiet", false, "print results alone: no progress, no warnings")
	flags.BoolVar(&f.noProgress, "no-progress", false, "no bars and no lines of progress")
	flags.Int64Var(&f.seed, "seed", 1, "of the messages and of the order of samples")
}

// registerFormat adds the flag of what is printed, and refuses what it cannot be.
func registerFormat(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", string(view.FormatTable), "of what is printed: "+strings.Join(formats(), ", "))
	cmd.PreRunE = func(*cobra.Command, []string) error {
		_, err := view.ParseFormat(*format)
		return usage(err)
	}
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

func formats() []string {
	var names []string
	for _, f := range view.Formats() {
		names = append(names, string(f))
	}
	return names
}

// parsePrecision reads "2%" or "0.02" as 0.02; empty is 0, never precise.
func parsePrecision(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	v, err := parseShare(s)
	if err != nil || v == 0 || v >= 1 {
		return 0, fmt.Errorf("--precision %q: want a share such as 2%%", s)
	}
	return v, nil
}

// noBench refuses the format of benchmarks for a command that has none to show.
func noBench(cmd *cobra.Command, format *string) {
	known := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if *format == string(view.FormatBench) {
			return usage(fmt.Errorf("--format bench is of measurements, and %s makes none: use table, markdown, csv or json", cmd.CommandPath()))
		}
		return known(cmd, args)
	}
}
