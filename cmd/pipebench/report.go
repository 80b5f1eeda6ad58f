package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/plots"
	"github.com/pipebench/pipebench/results"
)

func newReport() *cobra.Command {
	var out, title string
	cmd := &cobra.Command{
		Use:   "report FILE…",
		Short: "Make one self-contained page of any results, of one machine or of many",
		Long: `Make one HTML page of any results: machines, what was measured and found, pictures,
warnings, and the command that reproduces each. It has no script and fetches nothing.
Results of several machines are put side by side, each beside its own limits.`,
		Example: `  pipebench report pipebench-out/20261121-101500
  pipebench report linux.jsonl macos.jsonl windows.jsonl -o fleet.html`,
		Args: files,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if out == "" {
				out = filepath.Join(folderOf(paths[0]), reportFile)
			}
			return report(cmd, out, title, paths)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the page, - for standard output (default report.html in the folder of the first file)")
	cmd.Flags().StringVar(&title, "title", "", "of the page")
	return cmd
}

// folderOf is where the files of a run are, given the folder or one of them.
func folderOf(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path
	}
	return filepath.Dir(path)
}

// report writes the page whole or not at all.
func report(cmd *cobra.Command, out, title string, paths []string) error {
	set, err := readFiles(cmd, paths...)
	if err != nil {
		return err
	}
	o := plots.ReportOptions{Title: title, Sources: paths, Command: commandLine(os.Args)}
	if out == "-" {
		return plots.Report(cmd.OutOrStdout(), set, o)
	}
	if err := writeReport(out, set, o); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), out)
	return nil
}

// writeReport makes the page of a set, whole or not at all.
func writeReport(path string, set *results.Set, o plots.ReportOptions) error {
	var page bytes.Buffer
	o.Command = commandLine(os.Args)
	if err := plots.Report(&page, set, o); err != nil {
		return err
	}
	if err := results.ReplaceFile(path, page.Bytes()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

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
	set, err := readFiles(cmd, paths...)
	if err != nil {
		return err
	}
	var drawn []string
	var omitted []plots.Omission
	if len(gallery) == 0 {
		drawn, omitted, err = plots.Write(out, set)
	} else {
		drawn, err = plots.Gallery(out, set, gallery...)
	}
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
