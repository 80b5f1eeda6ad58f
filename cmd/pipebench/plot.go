package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/plots"
	"github.com/pipebench/pipebench/results"
)

func newPlot() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "plot FILE…",
		Short: "Draw the plots of results again, without measuring",
		Example: `  pipebench plot pipebench-out/20261121-101500/results.jsonl
  pipebench plot linux.jsonl macos.jsonl --out pictures`,
		Args: files,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if out == "" {
				out = filepath.Dir(paths[0])
			}
			return plot(cmd, out, paths)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder for the pictures (default that of the first file)")
	return cmd
}

// plot draws what the files hold, and says what they do not allow.
func plot(cmd *cobra.Command, out string, paths []string) error {
	set, err := results.Read(paths...)
	if err != nil {
		return err
	}
	for _, p := range set.Problems {
		fmt.Fprintln(cmd.ErrOrStderr(), "skipped:", p)
	}
	drawn, omitted, err := plots.Write(out, set)
	if err != nil {
		return err
	}
	for _, path := range drawn {
		fmt.Fprintln(cmd.OutOrStdout(), path)
	}
	for _, o := range omitted {
		fmt.Fprintln(cmd.ErrOrStderr(), "not drawn:", o)
	}
	if len(drawn) == 0 {
		return errors.New("nothing to draw: the files hold no samples")
	}
	return nil
}
