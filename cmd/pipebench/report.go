package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/plots"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe/script"
)

// reportFlags are what report was asked for, as it was typed.
type reportFlags struct {
	out, title string
}

func (f *reportFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.out, "out", "o", "", "the page, - for standard output (default report.html in the folder of the first file)")
	cmd.Flags().StringVar(&f.title, "title", "", "of the page")
}

func (f *reportFlags) run(cmd *cobra.Command, paths []string) {
	set := script.Must(readFiles(cmd, paths...))
	o := plots.ReportOptions{Title: f.title, Sources: paths, Command: commandLine(os.Args)}
	if f.out == "-" {
		script.Check(plots.Report(cmd.OutOrStdout(), set, o))
		return
	}
	if f.out == "" {
		f.out = filepath.Join(folderOf(paths[0]), reportFile)
	}
	script.Check(writeReport(f.out, set, o))
	fmt.Fprintln(cmd.OutOrStdout(), f.out)
	if len(set.Messages) > 0 {
		fmt.Fprintln(cmd.OutOrStdout(), strings.Join(view.RecordingSummary(set), "\n"))
	}
}

// folderOf is where the files of a run are, given the folder or one of them.
func folderOf(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path
	}
	return filepath.Dir(path)
}

// writeReport makes the page of a set, whole or not at all.
func writeReport(path string, set *results.Set, o plots.ReportOptions) error {
	var page bytes.Buffer
	if err := plots.Report(&page, set, o); err != nil {
		return err
	}
	return wrap("write the report", results.ReplaceFile(path, page.Bytes(), 0o600))
}

// plotFlags are what plot was asked for, as it was typed.
type plotFlags struct {
	out     string
	gallery []string
}

func (f *plotFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.gallery, "gallery", nil, "draw these alone, such as goodput,wait, as SVG that is small enough to be kept beside a program's sources")
	cmd.Flags().StringVarP(&f.out, "out", "o", "", "folder for the pictures (default that of the first file)")
}

// run draws what the files hold, and says what they do not allow.
func (f *plotFlags) run(cmd *cobra.Command, paths []string) {
	if f.out == "" {
		f.out = folderOf(paths[0])
	}
	set := script.Must(readFiles(cmd, paths...))
	drawn, omitted := script.Must2(plots.Write(f.out, set, f.gallery...))
	for _, path := range drawn {
		fmt.Fprintln(cmd.OutOrStdout(), path)
	}
	for _, o := range plots.ByReason(omitted) {
		fmt.Fprintln(cmd.ErrOrStderr(), "not drawn:", o)
	}
	demand(len(drawn) > 0, errors.New("nothing to draw: the files hold no samples"))
}
