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
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/plots"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/subrun"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// Names of the files of a run. Everything is a view on the first.
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
}

// open is a script. It makes the folder of a run, and begins its file with where it takes place. A
// folder that holds an earlier run keeps it: the file goes on.
func (f *sharedFlags) open(cmd *cobra.Command) *session {
	run := script.Must(results.NewRun())
	dir, err := f.makeFolder()
	script.Check(wrap("make the folder for results", err))
	path := filepath.Join(dir, recordsFile)
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		f.say(cmd, "%s has results of an earlier run: this one is added to them", dir)
	}
	w := script.Must(results.Append(path))
	s := &session{Writer: w, progress: f.progress(cmd.ErrOrStderr()), flags: f, cmd: cmd, env: describeRun(run, f.seed), dir: dir, run: run}
	if err := w.Write(s.env); err != nil {
		w.Close() // the first error says more
		script.Check(err)
	}
	return s
}

// describeRun returns the first record of a run's file.
func describeRun(run string, seed int64) results.Environment {
	env := machine.Describe(run, seed)
	env.Command = commandLine(os.Args)
	return env
}

// folder returns where the command was asked to keep what it measures, or a new place.
func (f *sharedFlags) folder() string {
	if f.out != "" {
		return f.out
	}
	return filepath.Join("pipebench-out", time.Now().Format("20060102-150405"))
}

// makeFolder makes the folder, if it is not there. One that nobody named is this run's alone,
// though others begin in the same second.
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

// commandLine returns the command as a shell would take it again.
func commandLine(args []string) string {
	return proc.ShellLine(append([]string{"pipebench"}, args[1:]...))
}

var errMaxTime = errors.New("--max-time is over: this is what was found by then")

// A task is what a command does in a session, and what it makes of the records. Work, show and gate
// are scripts. The last two are given the records of this run alone as own: earlier runs in the same
// folder were shown and judged in their time.
type task struct {
	maxTime time.Duration // for the work; 0 for as long as it takes
	work    func(ctx context.Context, s *session)

	show  func(all, own *results.Set)            // prints what was found, or ends with view.ErrNothing
	bench func(all *results.Set) *results.Set    // what goes into bench.txt; nil for no such file
	gate  func(measured error, own *results.Set) // ends with what gives the exit code
}

// measure is a script. It does a task in a session of its own: then it reads the file again, shows
// what it says, draws it, says where everything is kept, and judges it. A session that was interrupted
// or failed in part shows what it finished: measured is why.
func (f *sharedFlags) measure(cmd *cobra.Command, t task) {
	s := f.open(cmd)
	measured := s.measure(t.maxTime, func(ctx context.Context, s *session) error {
		return script.Run(func() { t.work(ctx, s) })
	})
	var own *results.Set
	err := script.Run(func() {
		all := script.Must(results.Read(filepath.Join(s.dir, recordsFile)))
		own = all.OfRun(s.run)
		t.show(all, own)
		s.leave(all, t)
	})
	switch {
	case measured != nil && errors.Is(err, view.ErrNothing):
		err = nil // measured says why there is nothing
	case err == nil && t.gate != nil:
		err = script.Run(func() { t.gate(measured, own) })
	}
	script.Check(errors.Join(measured, err))
}

// measure has work fill the file, for maxTime at most, or for as long as it takes where that is 0,
// and closes the file. It says that the time was over, which is no error.
func (s *session) measure(maxTime time.Duration, work func(ctx context.Context, s *session) error) error {
	defer s.progress.stop()
	if err := s.flags.awaitQuiet(s.cmd, s.env, s.progress); err != nil {
		return errors.Join(err, s.Close())
	}
	ctx, cancel := context.WithCancel(s.cmd.Context())
	if maxTime > 0 {
		ctx, cancel = context.WithTimeoutCause(s.cmd.Context(), maxTime, errMaxTime)
	}
	defer cancel()
	err := errors.Join(work(ctx, s), s.Close())
	if errors.Is(context.Cause(ctx), errMaxTime) {
		fmt.Fprintln(s.cmd.ErrOrStderr(), "pipebench:", errMaxTime)
		return nil
	}
	return err
}

// leave writes what a run leaves beside its records, and says where.
func (s *session) leave(all *results.Set, t task) {
	if subrun.RecordsOnly() {
		return
	}
	kept := []string{recordsFile}
	if t.bench != nil {
		var text bytes.Buffer
		err := view.Write(&text, t.bench(all), view.FormatBench, view.Options{})
		script.Check(wrap("write "+benchFile, err))
		script.Check(results.ReplaceFile(filepath.Join(s.dir, benchFile), text.Bytes()))
		kept = append(kept, benchFile)
	}
	files, omitted, err := plots.Write(s.dir, all)
	for _, o := range plots.ByReason(omitted) {
		s.flags.say(s.cmd, "not drawn: %s", o)
	}
	script.Check(err)
	sources := []string{filepath.Join(s.dir, recordsFile)}
	o := plots.ReportOptions{Sources: sources, Command: s.env.Command}
	writeReport(filepath.Join(s.dir, reportFile), all, o)
	kept = append(kept, reportFile)
	if drawn := results.FormatCount(len(files)/2, "plot"); drawn != "" { // each is an SVG and a PNG
		kept[len(kept)-1] += " and " + drawn
	}
	s.flags.say(s.cmd, "saved in %s: %s", s.dir, strings.Join(kept, ", "))
}

// say prints a line that belongs to no result.
func (f *sharedFlags) say(cmd *cobra.Command, format string, args ...any) {
	if !f.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
	}
}

// view shows a set in the format that was asked for.
func (f *sharedFlags) view(cmd *cobra.Command, set *results.Set) error {
	return view.Write(cmd.OutOrStdout(), set, f.format, viewOptions(cmd, f.detail))
}

// viewOptions fits what is printed to where it is printed.
func viewOptions(cmd *cobra.Command, detail bool) view.Options {
	o := view.Options{Detail: detail}
	if file, ok := cmd.OutOrStdout().(interface{ Fd() uintptr }); ok && term.IsTerminal(int(file.Fd())) {
		o.Width, _, _ = term.GetSize(int(file.Fd())) // one that is not known is 0
		o.Colour = os.Getenv("NO_COLOR") == ""
	}
	return o
}

// readable reports whether a person reads the format.
func readable(format view.Format) bool {
	return format == view.FormatTable || format == view.FormatMarkdown
}

// readFiles reads files of results, and reports what of them cannot be read.
func readFiles(cmd *cobra.Command, paths ...string) *results.Set {
	set := script.Must(results.Read(paths...))
	for _, p := range set.Problems {
		fmt.Fprintln(cmd.ErrOrStderr(), "skipped:", p)
	}
	return set
}

// demand ends a script with err unless what it demands is so.
func demand(so bool, err error) {
	if !so {
		script.Check(err)
	}
}

// wrap says what was being done when an error came, if one did.
func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// interruptibly returns what read makes of a file, or that ctx has ended first: to open a FIFO and
// to read a device have no deadline. A file that cannot be read was asked for rightly: it is no error
// of usage.
func interruptibly[T any](ctx context.Context, path string, read func(string) (T, error)) (T, error) {
	var value T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		value, err = read(path)
	}()
	select {
	case <-done:
		if err != nil {
			err = &statusError{exitFailed, err}
		}
		return value, err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// A progress tells the person who waits how far a command is: by a bar where stderr is a terminal,
// else by a plain line for each part that is finished, since a log keeps neither bars nor the codes
// that draw them. A nil progress prints nothing.
type progress struct {
	stderr    io.Writer
	part      string // what one part is called, "" for no name
	done      int    // parts
	measured  bool   // the bar shows units, not parts
	full      bool   // the bar has reached its total
	container *mpb.Progress
	bar       *mpb.Bar               // nil where lines are printed
	now       atomic.Pointer[string] // the latest step
}

// stepWidth is how many characters of a step are shown beside a bar, which takes the rest.
const stepWidth = 48

// progress returns what the flags ask for.
func (f *sharedFlags) progress(stderr io.Writer) *progress {
	if f.quiet || f.noProgress {
		return nil
	}
	p := &progress{stderr: stderr, part: f.part}
	if file, ok := stderr.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		return p
	}
	p.container = mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(32))
	p.now.Store(new(string))
	filler := mpb.BarStyle().Build()
	// Nobody lines it up with other decorators, as it is shown by another: it must not wait for them.
	eta := decor.AverageETA(decor.ET_STYLE_GO, decor.WC{W: 6, C: decor.DextraSpace})
	elapsed := decor.Elapsed(decor.ET_STYLE_GO)
	parts := decor.Any(func(s decor.Statistics) string { // until their number is known, the time that passed
		if s.Total > 0 {
			return fmt.Sprintf("%d of %d", s.Current, s.Total)
		}
		passed, _ := elapsed.Decor(s)
		return passed
	})
	left := decor.Any(func(s decor.Statistics) string {
		if s.Total <= 0 || s.Completed {
			return ""
		}
		text, _ := eta.Decor(s)
		return text
	})
	step := decor.Any(func(s decor.Statistics) string {
		if s.Total > 0 {
			return " " + view.Truncate(*p.now.Load(), stepWidth)
		}
		return " " + *p.now.Load()
	})
	p.bar = p.container.MustAdd(0, mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error {
		if s.Total <= 0 {
			return nil
		}
		return filler.Fill(w, s)
	}), mpb.PrependDecorators(parts), mpb.AppendDecorators(left, step))
	return p
}

// step shows beside the bar what is being done. What other programs are called or said may be part
// of it.
func (p *progress) step(what string) {
	if p != nil && p.bar != nil {
		p.now.Store(new(view.Escape(what)))
	}
}

// note shows beside the bar, or else prints as a line, what was found meanwhile.
func (p *progress) note(what string) {
	p.step(what)
	if p != nil && p.bar == nil {
		fmt.Fprintln(p.stderr, view.Escape(what))
	}
}

// units has the bar show units that are finer than parts, such as the samples of a cell.
func (p *progress) units(done, of int) {
	if p != nil && p.bar != nil {
		p.measured = true
		p.move(done, of)
	}
}

func (p *progress) move(done, of int) {
	p.bar.SetTotal(int64(of), false)
	p.bar.SetCurrent(int64(min(done, of)))
	p.full = done >= of
}

// finish counts a part of so many, and says how it turned out.
func (p *progress) finish(of int, what string) {
	if p == nil {
		return
	}
	p.done++
	what = view.Escape(what)
	switch {
	case p.bar != nil && !p.measured:
		p.move(p.done, of)
	case p.bar == nil && p.part != "":
		fmt.Fprintf(p.stderr, "%s %d/%d: %s\n", p.part, p.done, of, what)
	case p.bar == nil:
		fmt.Fprintf(p.stderr, "%d/%d %s\n", p.done, of, what)
	}
}

// stop leaves a finished bar on the screen and takes another away: one that is short of its total
// would be waited for for ever.
func (p *progress) stop() {
	if p == nil || p.bar == nil {
		return
	}
	if p.full {
		p.bar.SetTotal(-1, true)
	} else {
		p.bar.Abort(true)
	}
	p.container.Wait()
}

// quietLook is how long the machine has to be left alone to be quiet.
const quietLook = 2 * time.Second

// awaitQuiet waits until others leave the CPUs alone, where that was asked for, or says what to
// expect of a machine that begins with such a load.
func (f *sharedFlags) awaitQuiet(cmd *cobra.Command, env results.Environment, p *progress) error {
	if f.waitQuiet <= 0 {
		if load := env.Load1; load != nil && env.CPUs > 0 && *load > float64(env.CPUs)/2 {
			f.say(cmd, "load %.1f on %s: expect wide intervals; --wait-quiet waits for others to end",
				*load, results.FormatCount(env.CPUs, "CPU"))
		}
		return nil
	}
	isLoad := func(f results.Fault) bool { return f.ID == "load" }
	for began := time.Now(); time.Since(began) < f.waitQuiet; {
		before := machine.ReadUsage()
		select {
		case <-cmd.Context().Done():
			return context.Cause(cmd.Context())
		case <-time.After(min(quietLook, f.waitQuiet)):
		}
		found := machine.ReadUsage().Since(before).Faults()
		at := slices.IndexFunc(found, isLoad)
		if at < 0 {
			return nil
		}
		p.step("waiting: " + found[at].Verdict)
	}
	f.say(cmd, "others did not end within %s: measuring beside them", f.waitQuiet)
	return nil
}
