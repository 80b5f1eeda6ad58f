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

// Names of the files of a run. All others are made from the first.
const (
	recordsFile = results.FileName
	benchFile   = "bench.txt"
	reportFile  = "report.html"
)

// A session is one run of a command that measures, from the folder that it makes to the exit code.
type session struct {
	*results.Writer // of the run's records
	progress        *progress
	flags           *sharedFlags
	cmd             *cobra.Command
	env             results.Environment
	dir, run        string
	streamed        *bytes.Buffer // the records so far, if they go to standard output; else nil
	runs            []string      // all of this session; most have one
	planned         int           // how many runs there will be
	kept            []string      // other files that the command leaves
	late            bool          // the time was over before all was measured
}

// openSession makes the folder of a run, and begins its file with a description of where the run
// takes place. If the folder holds an earlier run, the new records are appended to its file.
func openSession(cmd *cobra.Command, f *sharedFlags) (*session, error) {
	if f.out == "-" {
		return openStream(cmd, f)
	}
	dir, err := f.makeFolder()
	if err != nil {
		return nil, fmt.Errorf("make the folder for results: %w", err)
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

// openStream opens a session whose records go to standard output as they come, and everything else
// to standard error. The records are kept in memory, too, so that they can be shown.
func openStream(cmd *cobra.Command, f *sharedFlags) (*session, error) {
	kept := new(bytes.Buffer)
	w := results.NewWriter(io.MultiWriter(cmd.OutOrStdout(), kept))
	cmd.SetOut(cmd.ErrOrStderr())
	s := newSession(cmd, f, w)
	s.streamed = kept
	return s, s.beginRun()
}

func newSession(cmd *cobra.Command, f *sharedFlags, w *results.Writer) *session {
	if f.anonymous {
		w.Anonymize()
	}
	progress := f.progress(cmd.ErrOrStderr())
	return &session{Writer: w, progress: progress, flags: f, cmd: cmd, planned: 1}
}

// read returns all that the file of the session holds so far.
func (s *session) read() (*results.Set, error) {
	if s.streamed != nil {
		return results.ReadFrom("standard output", bytes.NewReader(s.streamed.Bytes()))
	}
	return results.Read(filepath.Join(s.dir, recordsFile))
}

// beginRun begins the first run of the session, or a further one in the same file.
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

// describeRun returns the first record of a run's file.
func describeRun(run string, seed int64) results.Environment {
	env := machine.Describe(run, seed)
	env.Command = commandLine(withoutLabels(os.Args))
	return env
}

// makeFolder makes the folder for what the command measures, if it is not there. A folder without a
// given name belongs to this run alone, even if other runs begin in the same second.
func (f *sharedFlags) makeFolder() (string, error) {
	if f.out != "" {
		return f.out, os.MkdirAll(f.out, 0o777)
	}
	const parent = "pipebench-out"
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return "", err
	}
	dir := filepath.Join(parent, time.Now().Format("20060102-150405"))
	free := dir
	for n := 2; ; n++ {
		if err := os.Mkdir(free, 0o777); !errors.Is(err, fs.ErrExist) {
			return free, err
		}
		free = fmt.Sprintf("%s-%d", dir, n)
	}
}

// commandLine returns the command as a line for a shell, without secrets.
func commandLine(args []string) string {
	return proc.ShellLine(append([]string{"pipebench"}, results.HideSecrets(args)[1:]...))
}

var errMaxTime = errors.New("--max-time is over: this is what was found by then")

var errNothingInTime = errors.New(
	"--max-time was over before anything was found: give it more time")

// A task is a command's part of a session: what it measures, and what it makes of the records.
type task struct {
	limit   time.Duration // for measuring; 0 is none
	measure func(context.Context, *session) error
	show    func(found *results.Set) error // prints it, or returns view.ErrNothing
	gate    func(found *results.Set) error // gives the exit code; nil for none
}

// do shows and judges earlier results if files are named. Otherwise it measures, keeps everything
// in a folder, and shows and judges what it measured.
func (f *sharedFlags) do(cmd *cobra.Command, files []string, t task) error {
	if len(files) > 0 {
		set, err := readFiles(cmd, files...)
		if err == nil {
			err = t.show(set)
		}
		if err == nil && t.gate != nil {
			err = t.gate(set)
		}
		if err == nil {
			err = requireComplete(set)
		}
		return err
	}
	s, err := openSession(cmd, f)
	if err != nil {
		return err
	}
	return s.finish(s.measure(t), t)
}

// measure does the work of a task, until its time is over, and closes the file. If the time was
// over, it sets s.late and returns no error for that, but it returns every other error.
func (s *session) measure(t task) error {
	defer s.progress.stop()
	s.warnOfLoad()
	ctx := s.cmd.Context()
	if t.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.limit, errMaxTime)
		defer cancel()
	}
	err := t.measure(ctx, s)
	closed := s.Close()
	if errors.Is(context.Cause(ctx), errMaxTime) {
		s.late = true
		err = withoutEnd(err)
	}
	return errors.Join(err, closed)
}

// warnOfLoad says what to expect of a machine that others keep busy.
func (s *session) warnOfLoad() {
	load := s.env.Load1
	if load != nil && s.env.CPUs > 0 && *load > float64(s.env.CPUs)/2 {
		s.flags.say(s.cmd, "load %.1f on %s: expect wide intervals",
			*load, results.FormatCount(s.env.CPUs, "CPU"))
	}
}

// withoutEnd returns err without the errors that only say that the time was over.
func withoutEnd(err error) error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var left []error
		for _, e := range joined.Unwrap() {
			left = append(left, withoutEnd(e))
		}
		return errors.Join(left...)
	}
	if errors.Is(err, errMaxTime) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// finish reads the file again, shows and judges what this session added to it, draws all of it, and
// says where everything is kept. measured is the error of the measurement: a run that failed in
// part still shows and judges what it finished. An interrupted run is not judged.
func (s *session) finish(measured error, t task) error {
	all, err := s.read()
	if err != nil {
		return errors.Join(measured, err)
	}
	own := &results.Set{}
	for _, run := range s.runs {
		own = results.Merge(own, all.OfRun(run))
	}
	err = t.show(own)
	if measured != nil && errors.Is(err, view.ErrNothing) {
		return measured // measured says why there is nothing to show
	}
	if s.late && errors.Is(err, view.ErrNothing) {
		return errNothingInTime
	}
	if s.late {
		writeNotice(s.cmd.ErrOrStderr(), "pipebench: "+errMaxTime.Error())
	}
	if err == nil && s.streamed == nil && !turns.RecordsOnly() {
		err = s.leave(all)
	}
	if err == nil && t.gate != nil && s.cmd.Context().Err() == nil {
		err = t.gate(own)
	}
	return errors.Join(measured, err)
}

// leave writes the other files of a run beside its records, and says where they are.
func (s *session) leave(all *results.Set) error {
	kept := append([]string{recordsFile}, s.kept...)
	var text bytes.Buffer
	err := view.ErrNothing
	if !slices.Contains(s.kept, benchFile) { // it is a comparison's
		err = view.Write(&text, all, view.FormatBench, view.Options{})
	}
	if err == nil {
		err = results.ReplaceFile(filepath.Join(s.dir, benchFile), text.Bytes(), 0o666)
		kept = append(kept, benchFile)
	}
	if err != nil && !errors.Is(err, view.ErrNothing) { // a probe measures nothing for this file
		return fmt.Errorf("write %s: %w", benchFile, err)
	}
	files, err := plots.Write(s.dir, plots.Charts(all))
	if err != nil {
		return err
	}
	env, _ := all.Environment(s.run) // as it is in the file
	o := plots.ReportOptions{Sources: []string{recordsFile}, Command: env.Command}
	page := func(w io.Writer) error { return plots.Report(w, all, o) }
	if err := savePage(filepath.Join(s.dir, reportFile), page); err != nil {
		return err
	}
	saved := reportFile
	if len(files) > 0 { // each is an SVG and a PNG
		saved += " and " + results.FormatCount(len(files)/2, "plot")
	}
	kept = append(kept, saved)
	s.flags.say(s.cmd, "saved in %s: %s", s.dir, strings.Join(kept, ", "))
	return nil
}

// say prints a message that belongs to no result, unless --quiet was given.
func (f *sharedFlags) say(cmd *cobra.Command, format string, args ...any) {
	if !f.quiet {
		writeNotice(cmd.ErrOrStderr(), fmt.Sprintf(format, args...))
	}
}

// view shows a set in the format that was asked for.
func (f *sharedFlags) view(cmd *cobra.Command, set *results.Set) error {
	return view.Write(cmd.OutOrStdout(), set, f.format, viewOptions(cmd, f.detail))
}

// viewOptions returns options that suit the output: its width, and colours for a terminal.
func viewOptions(cmd *cobra.Command, detail bool) view.Options {
	o := view.Options{Detail: detail}
	columns, isTerminal := terminalWidth(cmd.OutOrStdout())
	o.Width = columns
	if isTerminal {
		o.Colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return o
}

// readable reports whether a person reads the format.
func readable(format view.Format) bool {
	return format == view.FormatTable || format == view.FormatMarkdown
}
