package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/plots"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// reportFlags are what report was asked for, as it was typed.
type reportFlags struct {
	out    string
	title  string
	charts []string
	where  []string
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
	flags.StringArrayVar(&f.where, "where", nil,
		"only runs whose environment or labels have KEY=VALUE, or KEY~PART: kernel~6.1")
	flags.BoolVar(&f.detail, "detail", false, "print all figures")
	registerFormat(cmd, &f.format, view.FormatBench)
}

func (f *reportFlags) run(cmd *cobra.Command, paths []string) error {
	if len(f.charts) > 0 && (f.out == "" || f.isPage()) {
		return usageError(errors.New("--charts draws into a folder: name one with -o"))
	}
	if ending := filepath.Ext(f.out); slices.Contains(otherEndings, strings.ToLower(ending)) {
		return usageError(fmt.Errorf("-o %s: want a page (x.html), or a folder for the page and "+
			"pictures as SVG and PNG; --format markdown, csv, json and bench go to standard output",
			f.out))
	}
	filter, err := results.ParseFilter(f.where...)
	if err != nil {
		return usageError(err)
	}
	g := gathered{set: &results.Set{}, whole: !f.isPage() && f.forPrograms()}
	if err := g.read(cmd, filter, paths); err != nil {
		return err
	}
	o := plots.ReportOptions{Title: f.title, Sources: sources(paths), Command: commandLine(os.Args)}
	if err := f.show(cmd, &g, o); err != nil {
		return err
	}
	return requireComplete(g.set)
}

// otherEndings are those of files that -o does not write. A name with one of them is no folder.
var otherEndings = []string{
	".pdf", ".png", ".svg", ".jpg", ".htm", ".md", ".txt", ".csv", ".json", ".jsonl",
}

func (f *reportFlags) isPage() bool { return f.out == "-" || strings.HasSuffix(f.out, ".html") }

// show prints, or makes the page or pictures that were asked for.
func (f *reportFlags) show(cmd *cobra.Command, g *gathered, o plots.ReportOptions) error {
	switch {
	case f.out == "" && g.members != nil:
		return view.WriteFleet(cmd.OutOrStdout(), g.members, f.format, viewOptions(cmd, f.detail))
	case f.out == "":
		return view.Write(cmd.OutOrStdout(), g.set, f.format, viewOptions(cmd, f.detail))
	case f.out == "-":
		return g.page(cmd.OutOrStdout(), o)
	case f.isPage():
		return f.save(cmd, f.out, g, o)
	}
	return f.draw(cmd, g, o)
}

// forPrograms reports whether the format is for programs. They get every record of every machine.
func (f *reportFlags) forPrograms() bool {
	return f.format != view.FormatTable && f.format != view.FormatMarkdown
}

// mostSources is how many files a page names.
const mostSources = 12

// sources returns the names of the files for a page. If there are too many, it returns the first
// mostSources and the number of the others.
func sources(paths []string) []string {
	if more := len(paths) - mostSources; more > 0 {
		return append(slices.Clone(paths[:mostSources]), fmt.Sprintf("%d more", more))
	}
	return paths
}

// gathered is what the files hold: all records if they are of one machine or if a program wants
// them, or else a summary of each machine.
type gathered struct {
	set     *results.Set // only the problems if there is a fleet
	whole   bool         // keep all records of several machines, too
	fleet   *stat.Fleet
	members []stat.Member // nil unless there are several machines
}

// read reads the files. As soon as there is a second machine, it summarises the records, because
// the records of a thousand machines do not fit into memory.
func (g *gathered) read(cmd *cobra.Command, filter *results.Filter, paths []string) error {
	read := func(string) ([]results.Problem, error) {
		return results.Each(filter.Through(g.add), paths...)
	}
	problems, err := interruptibly(cmd.Context(), "", read)
	if err != nil {
		return err
	}
	problems = filter.Relevant(problems)
	reportProblems(cmd, problems)
	g.set.Problems = problems
	if g.fleet != nil {
		g.members = g.fleet.Members()
	}
	return filter.Err()
}

func (g *gathered) add(line results.Line) {
	if g.fleet != nil {
		g.fleet.Add(line)
		return
	}
	g.set.Add(line)
	e, isEnvironment := line.(results.Environment)
	if isEnvironment && !g.whole && e.Node() != g.set.Environments[0].Node() {
		g.fleet = stat.FleetOf(g.set)
		g.set = &results.Set{}
	}
}

// page writes the page.
func (g *gathered) page(w io.Writer, o plots.ReportOptions) error {
	if g.members != nil {
		return plots.ReportFleet(w, g.members, g.set.Problems, o)
	}
	return plots.Report(w, g.set, o)
}

// charts are the pictures of what was read.
func (g *gathered) charts() []plots.Chart {
	if g.members != nil {
		return plots.FleetCharts(g.members)
	}
	return plots.Charts(g.set)
}

// draw fills a folder with pictures and, unless single charts were asked for, the page.
func (f *reportFlags) draw(cmd *cobra.Command, g *gathered, o plots.ReportOptions) error {
	drawn, err := plots.Write(f.out, g.charts(), f.charts...)
	if err != nil {
		return err
	}
	for _, path := range drawn {
		fmt.Fprintln(cmd.OutOrStdout(), path)
	}
	if len(f.charts) > 0 {
		return nil
	}
	return f.save(cmd, filepath.Join(f.out, reportFile), g, o)
}

// save writes the page to a file, and prints its name.
func (f *reportFlags) save(cmd *cobra.Command, path string, g *gathered,
	o plots.ReportOptions) error {
	page := func(w io.Writer) error { return g.page(w, o) }
	if err := savePage(path, page); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), path)
	return nil
}

// savePage makes a page in a file, whole or not at all.
func savePage(path string, write func(io.Writer) error) error {
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	return wrap("write the report", results.ReplaceFile(path, page.Bytes(), 0o600))
}
