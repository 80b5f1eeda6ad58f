package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/plots"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/turns"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Names of files in a session's folder: the records, the records as benchmark text, and the page
// that shows them.
const (
	recordsFile = results.FileName
	benchFile   = "bench.txt"
	reportFile  = "report.html"
)

// A session is the work of a command that measures. It makes one or more runs, and shows, saves and
// judges the results.
type session struct {
	*results.Writer // of the records
	progress        *progress
	flags           *sharedFlags
	cmd             *cobra.Command
	dir             string              // the folder; "" if streamed is not nil
	streamed        *bytes.Buffer       // a copy of the records, if they go to stdout; else nil
	run             string              // ID of the run that was begun last
	env             results.Environment // of that run
	runs            []string            // IDs of all runs so far
	planned         int                 // how many runs there will be
	kept            []string            // names of the other files that the command wrote into dir
	late            bool                // --max-time was over before everything was measured
}

// openSession opens the folder of a session, and begins the first run. Earlier records in the
// folder stay.
func openSession(cmd *cobra.Command, f *sharedFlags) (*session, error) {
	if f.out == "-" {
		return openStream(cmd, f)
	}
	dir, err := f.makeFolder()
	if err != nil {
		return nil, wrap("make the folder for results", err)
	}
	path := filepath.Join(dir, recordsFile)
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		f.say(cmd, "%s has results of an earlier run: this one is added to them", dir)
	}
	w, err := results.Append(path)
	if err != nil {
		return nil, err
	}
	s := newSession(cmd, f, w)
	s.dir = dir
	if err := s.beginRun(); err != nil {
		w.Close() // the first error says more
		return nil, err
	}
	return s, nil
}

// openStream opens a session whose records go to standard output, and all else to standard error.
func openStream(cmd *cobra.Command, f *sharedFlags) (*session, error) {
	streamed := new(bytes.Buffer)
	w := results.NewWriter(io.MultiWriter(cmd.OutOrStdout(), streamed))
	cmd.SetOut(cmd.ErrOrStderr())
	s := newSession(cmd, f, w)
	s.streamed = streamed
	return s, s.beginRun()
}

func newSession(cmd *cobra.Command, f *sharedFlags, w *results.Writer) *session {
	if f.anonymous {
		w.Anonymize()
	}
	progress := f.newProgress(cmd.ErrOrStderr())
	return &session{Writer: w, progress: progress, flags: f, cmd: cmd, planned: 1}
}

// read returns all records in the file of the session, also those that were there before.
func (s *session) read() (*results.Set, error) {
	if s.streamed != nil {
		return results.ReadFrom("standard output", bytes.NewReader(s.streamed.Bytes()))
	}
	return results.Read(filepath.Join(s.dir, recordsFile))
}

// beginRun begins a run with a new ID, and writes the record that describes the machine and the
// command.
func (s *session) beginRun() error {
	run, err := results.NewRun()
	if err != nil {
		return err
	}
	s.run = run
	s.runs = append(s.runs, run)
	s.env = describeRun(run, s.flags.seed)
	s.env.Labels = s.flags.allLabels()
	return s.Write(s.env)
}

// keep writes a record of the current run. If the record is a finding, it first gets the ID of the
// run and the time.
func (s *session) keep(line results.Line) error {
	if f, ok := line.(results.Finding); ok {
		f.Run = s.run
		f.Time = time.Now().UTC()
		return s.Write(f)
	}
	return s.Write(line)
}

const noSeed = 0 // the seed of a run that generates no messages

// describeRun returns the first record of a run: the machine, and the command that was typed.
func describeRun(run string, seed int64) results.Environment {
	env := machine.Describe(run, seed)
	env.Command = commandLine(os.Args)
	return env
}

// makeFolder makes the folder that --out names, or else a new one that no other session uses.
func (f *sharedFlags) makeFolder() (string, error) {
	if f.out != "" {
		ending := strings.ToLower(filepath.Ext(f.out))
		_, err := os.Stat(f.out)
		if err != nil && (ending == ".html" || slices.Contains(otherEndings, ending)) {
			return "", usageError(fmt.Errorf("--out %s: want a folder, for the records and the "+
				"page; --out - writes the records alone: pipebench run --out - > x.jsonl", f.out))
		}
		return f.out, os.MkdirAll(f.out, 0o777)
	}
	const parent = "pipebench-out"
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return "", err
	}
	base := filepath.Join(parent, time.Now().Format("20060102-150405"))
	dir := base
	for n := 2; ; n++ {
		if err := os.Mkdir(dir, 0o777); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
		dir = fmt.Sprintf("%s-%d", base, n)
	}
}

// commandLine returns a command of this program as a line for a shell, with secrets hidden.
func commandLine(args []string) string {
	return proc.ShellLine(append([]string{"pipebench"}, results.HideSecrets(args)[1:]...))
}

var errMaxTime = errors.New("--max-time is over: this is what was found by then")

var errNothingInTime = errors.New(
	"--max-time was over before anything was found: give it more time")

// A task says what a session is to measure, how to show the records, and how to judge them.
type task struct {
	limit   time.Duration // the time limit of measure; 0: no limit
	measure func(context.Context, *session) error
	// warnsItself says that measure calls warnOfLoad, once it is clear that it times something.
	warnsItself bool
	show        func(found *results.Set) error // prints what was found, or returns view.ErrNothing
	gate        func(found *results.Set) error // returns an error with an exit code; nil: no gate
}

// do carries out a task. If files are named, it shows and judges what they hold instead of
// measuring.
func (f *sharedFlags) do(cmd *cobra.Command, files []string, t task) error {
	if len(files) == 0 {
		s, err := openSession(cmd, f)
		if err != nil {
			return err
		}
		measureErr := s.measure(t)
		return s.finish(t, measureErr)
	}
	if f.out != "" {
		return usageError(errors.New("--out is for what is measured, and files are only shown: " +
			"pipebench report FILE... --out page.html makes a page of them"))
	}
	found, err := readResults(cmd.Context(), files...)
	if err != nil {
		return err
	}
	reportProblems(cmd, found.Problems)
	if err := t.show(found); err != nil {
		return err
	}
	if t.gate != nil {
		if err := t.gate(found); err != nil {
			return err
		}
	}
	return requireComplete(found)
}

// measure measures what a task asks for. If the time limit ends the measuring, s.late becomes true,
// and no error is returned for that.
func (s *session) measure(t task) error {
	defer s.progress.stop()
	if !t.warnsItself {
		s.warnOfLoad()
	}
	ctx := s.cmd.Context()
	if t.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.limit, errMaxTime)
		defer cancel()
	}
	err := t.measure(ctx, s)
	closeErr := s.Close()
	if errors.Is(context.Cause(ctx), errMaxTime) {
		s.late = true
		err = withoutTimeUp(err)
	}
	return errors.Join(err, closeErr)
}

// warnOfLoad warns that figures will be uncertain if other programs keep the machine busy.
func (s *session) warnOfLoad() {
	if load := s.load(); load != "" {
		s.flags.say(s.cmd, "%s: expect wide intervals", load)
	}
}

// load returns "load 9.0 on 2 CPUs" if other programs keep the machine busy, and "" otherwise.
func (s *session) load() string {
	load := s.env.Load1
	if load == nil || s.env.CPUs == 0 || *load <= float64(s.env.CPUs)/2 {
		return ""
	}
	return fmt.Sprintf("load %.1f on %s", *load, results.FormatCount(s.env.CPUs, "CPU"))
}

// withoutTimeUp returns err without the errors that only say that the time was over.
func withoutTimeUp(err error) error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var left []error
		for _, e := range joined.Unwrap() {
			left = append(left, withoutTimeUp(e))
		}
		return errors.Join(left...)
	}
	if errors.Is(err, errMaxTime) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// finish shows, keeps and judges what was measured, even if measureErr says that a part failed. An
// interrupted session is not judged.
func (s *session) finish(t task, measureErr error) error {
	all, err := s.read()
	if err != nil {
		return errors.Join(measureErr, err)
	}
	own := &results.Set{}
	for _, run := range s.runs {
		own = results.Merge(own, all.OfRun(run))
	}
	err = t.show(own)
	isNew := s.streamed == nil && s.flags.out == ""
	if isNew && all.IsEmpty() {
		_ = os.RemoveAll(s.dir) // nobody looks for a folder that has no results
	}
	isInterrupted := s.cmd.Context().Err() != nil
	if errors.Is(err, view.ErrNothing) && measureErr != nil {
		return measureErr // measureErr says why there is nothing to show
	}
	if errors.Is(err, view.ErrNothing) && s.late {
		return errNothingInTime
	}
	if err == nil && s.streamed == nil && !turns.RecordsOnly() {
		err = s.writeFiles(all)
	}
	if s.late {
		writeNotice(s.cmd.ErrOrStderr(), "pipebench: "+errMaxTime.Error())
	}
	if err == nil && t.gate != nil && !isInterrupted {
		err = t.gate(own)
	}
	return errors.Join(measureErr, err)
}

// writeFiles makes the benchmark text, the pictures and the page from the records.
func (s *session) writeFiles(all *results.Set) error {
	if !slices.Contains(s.kept, benchFile) { // a comparison has already written this file
		var text bytes.Buffer
		err := view.Write(&text, all, view.FormatBench, view.Options{})
		if err == nil {
			err = s.keepBench(text.Bytes())
		}
		if err != nil && !errors.Is(err, view.ErrNothing) { // a probe has nothing for this file
			return fmt.Errorf("write %s: %w", benchFile, err)
		}
	}
	pictures, err := plots.Write(s.dir, plots.Charts(all))
	if err != nil {
		return err
	}
	env, _ := all.Environment(s.run) // the file may have hashes where s.env has names
	o := plots.ReportOptions{Sources: []string{recordsFile}, Command: env.Command}
	page := func(w io.Writer) error { return plots.Report(w, all, o) }
	if err := savePage(filepath.Join(s.dir, reportFile), page); err != nil {
		return err
	}
	saved := append([]string{recordsFile}, s.kept...)
	drawn := reportFile
	if plotCount := len(pictures) / 2; plotCount > 0 { // each plot is an SVG and a PNG
		drawn += " and " + results.FormatCount(plotCount, "plot")
	}
	s.flags.say(s.cmd, "saved in %s: %s, %s", s.dir, strings.Join(saved, ", "), drawn)
	return nil
}

func (s *session) keepBench(text []byte) error {
	err := results.ReplaceFile(filepath.Join(s.dir, benchFile), text, 0o666)
	if err == nil {
		s.kept = append(s.kept, benchFile)
	}
	return err
}

// say prints a message that is not part of a result, unless --quiet was given.
func (f *sharedFlags) say(cmd *cobra.Command, format string, args ...any) {
	if !f.quiet {
		writeNotice(cmd.ErrOrStderr(), fmt.Sprintf(format, args...))
	}
}

func (f *sharedFlags) print(cmd *cobra.Command, set *results.Set) error {
	return view.Write(cmd.OutOrStdout(), set, f.format, viewOptions(cmd, f.detail))
}

// viewOptions returns options that suit the output: its width, and colours for a terminal.
func viewOptions(cmd *cobra.Command, detail bool) view.Options {
	columns, isTerminal := terminalWidth(cmd.OutOrStdout())
	hasColour := isTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return view.Options{Detail: detail, Width: columns, Colour: hasColour}
}

// isReadable reports whether the format is for people.
func isReadable(format view.Format) bool {
	return format == view.FormatTable || format == view.FormatMarkdown
}
