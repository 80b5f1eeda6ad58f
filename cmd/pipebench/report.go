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
	"github.com/pipebench/pipebench/scenarios/tune"
	"github.com/pipebench/pipebench/syspipe/proc"
)

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
	flags.StringVar(&f.title, "title", "", "title of the page")
	flags.StringSliceVar(&f.charts, "charts", nil,
		"draw these alone into the folder, such as goodput,wait, as SVG")
	flags.StringArrayVar(&f.where, "where", nil,
		"only runs whose environment or labels have KEY=VALUE, or KEY~PART: kernel~6.1.")
	flags.BoolVar(&f.detail, "detail", false, "print all figures")
	registerFormat(cmd, &f.format, view.FormatBench)
}

func (f *reportFlags) run(cmd *cobra.Command, paths []string) error {
	if len(f.charts) > 0 && (f.out == "" || f.isPage()) {
		return usageError(errors.New("--charts draws into a folder: name one with -o"))
	}
	ending := strings.ToLower(filepath.Ext(f.out))
	if slices.Contains(otherEndings, ending) {
		return usageError(fmt.Errorf("-o %s: want a page (x.html), or a folder for the page and "+
			"pictures as SVG and PNG; --format markdown, csv, json and bench go to standard output",
			f.out))
	}
	filter, err := results.ParseFilter(f.where...)
	if err != nil {
		return usageError(err)
	}
	isForProgram := !f.isPage() && !isReadable(f.format)
	g := gathered{set: &results.Set{}, keepAll: isForProgram}
	if err := g.read(cmd, filter, paths); err != nil {
		return err
	}
	o := plots.ReportOptions{Title: f.title, Sources: sources(paths), Command: commandLine(os.Args)}
	if err := f.show(cmd, &g, o); err != nil {
		return err
	}
	if f.out == "" && (f.format == view.FormatCSV || f.format == view.FormatBench) {
		reportLeftOut(cmd, g.set, f.format)
	}
	return requireComplete(g.set)
}

// otherEndings are the endings of files that -o cannot write.
var otherEndings = []string{
	".pdf", ".png", ".svg", ".jpg", ".htm", ".md", ".txt", ".csv", ".json", ".jsonl",
}

func (f *reportFlags) isPage() bool {
	return f.out == "-" || strings.EqualFold(filepath.Ext(f.out), ".html")
}

// show prints tables, or makes the page or the pictures that the flags ask for.
func (f *reportFlags) show(cmd *cobra.Command, g *gathered, o plots.ReportOptions) error {
	switch {
	case f.out == "" && g.members != nil:
		return view.WriteFleet(cmd.OutOrStdout(), g.members, g.set.Problems, f.format,
			viewOptions(cmd, f.detail))
	case f.out == "":
		shown := viewOptions(cmd, f.detail)
		if len(o.Sources) == 1 && o.Sources[0] != "-" {
			shown.File = proc.ShellLine(o.Sources)
		}
		return view.Write(cmd.OutOrStdout(), g.set, f.format, shown)
	case f.out == "-":
		return g.writePage(cmd.OutOrStdout(), o)
	case f.isPage():
		return f.save(cmd, f.out, g, o)
	}
	return f.draw(cmd, g, o)
}

// reportLeftOut says how many records of the set are left out by a format that has only
// measurements.
func reportLeftOut(cmd *cobra.Command, set *results.Set, format view.Format) {
	n := len(set.Findings) + len(set.Targets) + len(set.Messages)
	if n > 0 && len(set.Records) > 0 {
		writeNotice(cmd.ErrOrStderr(), fmt.Sprintf("pipebench: %s has the measurements alone, not "+
			"%s of other kinds: --format json has all", format, results.FormatCount(n, "record")))
	}
}

// sources returns the names of the first twelve files, and how many more there are.
func sources(paths []string) []string {
	const limit = 12
	if more := len(paths) - limit; more > 0 {
		return append(slices.Clone(paths[:limit]), fmt.Sprintf("%d more", more))
	}
	return paths
}

// gathered is what the files hold: all records or, if several machines made them, a summary of each
// machine.
type gathered struct {
	keepAll bool          // make no summaries: a program wants all records
	set     *results.Set  // all records; if there are summaries, only the problems
	fleet   *stat.Fleet   // nil if there is none
	members []stat.Member // of the fleet; set when all files are read
}

func (g *gathered) read(cmd *cobra.Command, filter *results.Filter, paths []string) error {
	each := func(paths []string) ([]results.Problem, error) {
		return results.Each(filter.Through(g.add), paths...)
	}
	problems, err := interruptibly(cmd.Context(), paths, each)
	if err != nil {
		return err
	}
	problems = filter.Relevant(problems)
	reportProblems(cmd, problems)
	g.set.Problems = problems
	if !g.keepAll {
		tune.JudgeAnew(g.set)
	}
	if g.fleet != nil {
		g.members = g.fleet.Members()
	}
	return filter.Err()
}

// add adds a record. When the first record of a second machine comes, add turns the records so far
// into summaries of machines, because the records of a thousand machines do not fit into memory.
func (g *gathered) add(line results.Line) {
	if g.fleet != nil {
		g.fleet.Add(line)
		return
	}
	g.set.Add(line)
	env, isEnvironment := line.(results.Environment)
	if isEnvironment && !g.keepAll && env.Node() != g.set.Environments[0].Node() {
		g.fleet = stat.FleetOf(g.set)
		g.set = &results.Set{}
	}
}

func (g *gathered) writePage(w io.Writer, o plots.ReportOptions) error {
	if g.members != nil {
		return plots.ReportFleet(w, g.members, g.set.Problems, o)
	}
	return plots.Report(w, g.set, o)
}

func (g *gathered) charts() []plots.Chart {
	if g.members != nil {
		return plots.FleetCharts(g.members)
	}
	return plots.Charts(g.set)
}

// draw makes a folder with pictures. Without --charts, it also writes the page into that folder.
func (f *reportFlags) draw(cmd *cobra.Command, g *gathered, o plots.ReportOptions) error {
	drawn, err := plots.Write(f.out, g.charts(), f.charts...)
	if err != nil {
		return usageError(err) // the system's errors stay what they are
	}
	for _, path := range drawn {
		fmt.Fprintln(cmd.OutOrStdout(), path)
	}
	if len(f.charts) > 0 {
		return nil
	}
	return f.save(cmd, filepath.Join(f.out, reportFile), g, o)
}

func (f *reportFlags) save(
	cmd *cobra.Command, path string, g *gathered, o plots.ReportOptions,
) error {
	err := savePage(path, func(w io.Writer) error { return g.writePage(w, o) })
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), path)
	return nil
}

// savePage writes a page into a file. If that fails, the file stays as it was.
func savePage(path string, write func(io.Writer) error) error {
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	return wrap("write the report", results.ReplaceFile(path, page.Bytes(), 0o600))
}
