package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/plots"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// Names of the files of a run. Everything is a view on the first.
const (
	recordsFile = results.FileName
	benchFile   = "bench.txt"
)

// A runFolder is where the files of a run are kept.
type runFolder struct {
	*results.Writer
	dir string
}

// folder is where the command was asked to keep what it measures, or a new one.
func (f *sharedFlags) folder() string {
	if f.out != "" {
		return f.out
	}
	return filepath.Join("pipebench-out", time.Now().Format("20060102-150405"))
}

// makeFolder makes the folder, if it is not there. One that nobody named is
// this run's alone, though others begin in the same second.
func (f *sharedFlags) makeFolder() (string, error) {
	dir := f.folder()
	if f.out != "" {
		return dir, os.MkdirAll(dir, 0o777)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return "", err
	}
	free := dir
	for n := 2; ; n++ {
		if err := os.Mkdir(free, 0o777); !errors.Is(err, fs.ErrExist) {
			return free, err
		}
		free = fmt.Sprintf("%s-%d", dir, n)
	}
}

// openRun makes the folder of a run, and begins its file with where it takes
// place. A folder that holds an earlier run keeps it: the file goes on.
func (f *sharedFlags) openRun(run string) (*runFolder, error) {
	dir, err := f.makeFolder()
	if err != nil {
		return nil, fmt.Errorf("make the folder for results: %w", err)
	}
	w, err := results.Append(filepath.Join(dir, recordsFile))
	if err != nil {
		return nil, err
	}
	env := machine.Describe(run, f.seed)
	env.Command = commandLine(os.Args)
	if err := w.Write(env); err != nil {
		w.Close() // the first error says more
		return nil, err
	}
	return &runFolder{Writer: w, dir: dir}, nil
}

// commandLine is the command as a shell would take it again.
func commandLine(args []string) string {
	words := []string{"pipebench"}
	for _, a := range args[1:] {
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$&|;<>()*?[]#~`!{}") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// show prints what the run's file says, and draws it.
func (f *sharedFlags) show(dir string, stdout, stderr io.Writer) error {
	set, err := results.Read(filepath.Join(dir, recordsFile))
	if err != nil {
		return err
	}
	if err := view.Write(stdout, set, view.Format(f.format), view.Options{}); err != nil {
		return err
	}
	if err := writeBench(filepath.Join(dir, benchFile), set); err != nil {
		return err
	}
	drawn, err := f.draw(stderr, dir, set)
	if err != nil {
		return err
	}
	if err := writeReport(dir, set); err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(stderr, "kept in %s: %s, %s, %s and %d plots\n", dir, recordsFile, benchFile, reportFile, drawn)
	}
	return nil
}

// writeReport makes the page of a run, whole or not at all.
func writeReport(dir string, set *results.Set) error {
	var page bytes.Buffer
	o := plots.ReportOptions{Sources: []string{filepath.Join(dir, recordsFile)}, Command: commandLine(os.Args)}
	if err := plots.Report(&page, set, o); err != nil {
		return err
	}
	if err := results.ReplaceFile(filepath.Join(dir, reportFile), page.Bytes()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func writeBench(path string, set *results.Set) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := view.Write(file, set, view.FormatBench, view.Options{}); err != nil {
		file.Close() // the first error says more
		return fmt.Errorf("write %s: %w", path, err)
	}
	return file.Close()
}

// draw makes the pictures that the set allows, says which it does not, and
// counts them.
func (f *sharedFlags) draw(stderr io.Writer, dir string, set *results.Set) (int, error) {
	files, omitted, err := plots.Write(dir, set)
	for _, o := range plots.ByReason(omitted) {
		if !f.quiet {
			fmt.Fprintln(stderr, "not drawn:", o)
		}
	}
	return len(files) / 2, err // an SVG and a PNG of each
}
