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
)

// reportFlags are what report was asked for, as it was typed.
type reportFlags struct {
	out    string
	title  string
	charts []string
	detail bool
	format view.Format
}

func (f *reportFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "",
		"a page (x.html, or - for standard output), or a folder for the page and pictures")
	flags.StringVar(&f.title, "title", "", "of the page")
	flags.StringSliceVar(&f.charts, "charts", nil,
		"draw these alone into the folder, such as goodput,wait, as SVG")
	flags.BoolVar(&f.detail, "detail", false, "print all figures")
	registerFormat(cmd, &f.format, view.FormatBench)
}

func (f *reportFlags) run(cmd *cobra.Command, paths []string) error {
	if len(f.charts) > 0 && (f.out == "" || f.isPage()) {
		return usage(errors.New("--charts draws into a folder: name one with -o"))
	}
	set, err := readFiles(cmd, paths...)
	if err != nil {
		return err
	}
	if err := f.show(cmd, set, paths); err != nil {
		return err
	}
	return requireComplete(set)
}

func (f *reportFlags) isPage() bool { return f.out == "-" || strings.HasSuffix(f.out, ".html") }

// show prints, or makes the page or pictures that were asked for.
func (f *reportFlags) show(cmd *cobra.Command, set *results.Set, paths []string) error {
	o := plots.ReportOptions{Title: f.title, Sources: paths, Command: commandLine(os.Args)}
	switch {
	case f.out == "":
		return view.Write(cmd.OutOrStdout(), set, f.format, viewOptions(cmd, f.detail))
	case f.out == "-":
		return plots.Report(cmd.OutOrStdout(), set, o)
	case f.isPage():
		if err := writeReport(f.out, set, o); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), f.out)
		return nil
	}
	return f.draw(cmd, set, o)
}

// draw fills a folder with pictures and, unless single charts were asked for, the page. It says
// what the files do not allow.
func (f *reportFlags) draw(cmd *cobra.Command, set *results.Set, o plots.ReportOptions) error {
	drawn, missing, err := plots.Write(f.out, set, f.charts...)
	if err != nil {
		return err
	}
	for _, path := range drawn {
		fmt.Fprintln(cmd.OutOrStdout(), path)
	}
	for _, what := range missing {
		fmt.Fprintln(cmd.ErrOrStderr(), "not drawn:", what)
	}
	if len(f.charts) > 0 {
		return nil
	}
	page := filepath.Join(f.out, reportFile)
	if err := writeReport(page, set, o); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), page)
	return nil
}

// writeReport makes the page of a set, whole or not at all.
func writeReport(path string, set *results.Set, o plots.ReportOptions) error {
	var page bytes.Buffer
	if err := plots.Report(&page, set, o); err != nil {
		return err
	}
	return wrap("write the report", results.ReplaceFile(path, page.Bytes(), 0o600))
}
