package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/plots"
	"github.com/pipebench/pipebench/results"
)

// reportFile is what the report of a run is called in its folder.
const reportFile = "report.html"

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
	set, err := results.Read(paths...)
	if err != nil {
		return err
	}
	for _, p := range set.Problems {
		fmt.Fprintln(cmd.ErrOrStderr(), "pipebench:", p)
	}
	var page bytes.Buffer
	if err := plots.Report(&page, set, plots.ReportOptions{Title: title, Sources: paths, Command: commandLine(os.Args)}); err != nil {
		return err
	}
	if out == "-" {
		_, err := page.WriteTo(cmd.OutOrStdout())
		return err
	}
	if err := results.ReplaceFile(out, page.Bytes()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	fmt.Fprintln(cmd.OutOrStdout(), out)
	return nil
}
