package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/plots"
	"github.com/pipebench/pipebench/results"
)

func newPlot() *cobra.Command {
	var out string
	var gallery []string
	cmd := &cobra.Command{
		Use:   "plot FILE…",
		Short: "Draw the plots of results again, without measuring",
		Example: `  pipebench plot pipebench-out/20261121-101500/results.jsonl
  pipebench plot linux.jsonl macos.jsonl --out pictures
  pipebench plot pipebench-out/gallery --gallery goodput,wait --out plots/gallery`,
		Args: files,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if out == "" {
				out = folderOf(paths[0])
			}
			return plot(cmd, out, gallery, paths)
		},
	}
	cmd.Flags().StringSliceVar(&gallery, "gallery", nil, "draw these alone, such as goodput,wait, as SVG that is small enough to be kept beside a program's sources")
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder for the pictures (default that of the first file)")
	return cmd
}

// plot draws what the files hold, and says what they do not allow.
func plot(cmd *cobra.Command, out string, gallery, paths []string) error {
	set, err := results.Read(paths...)
	if err != nil {
		return err
	}
	for _, p := range set.Problems {
		fmt.Fprintln(cmd.ErrOrStderr(), "skipped:", p)
	}
	drawn, omitted, err := drawIn(out, gallery, set)
	if err != nil {
		return err
	}
	for _, path := range drawn {
		fmt.Fprintln(cmd.OutOrStdout(), path)
	}
	for _, o := range plots.ByReason(omitted) {
		fmt.Fprintln(cmd.ErrOrStderr(), "not drawn:", o)
	}
	if len(drawn) == 0 {
		return errors.New("nothing to draw: the files hold no samples")
	}
	return nil
}

// drawIn draws all, or what a gallery names.
func drawIn(out string, gallery []string, set *results.Set) ([]string, []plots.Omission, error) {
	if len(gallery) == 0 {
		return plots.Write(out, set)
	}
	drawn, err := plots.Gallery(out, set, gallery...)
	return drawn, nil, err
}
