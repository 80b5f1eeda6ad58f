package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/turns"
)

// compareFlags are what compare was asked for, as it was typed.
type compareFlags struct {
	gateFlags
	across      bool // of files
	interleaved bool // of files
	pairs       int  // of builds
	sharedFlags      // of builds, but for what is printed
}

func (f *compareFlags) register(cmd *cobra.Command) {
	f.part = "pair"
	flags := cmd.Flags()
	f.gateFlags.register(cmd)
	flags.BoolVar(&f.across, "across", false, "give verdicts between different machines, too")
	flags.BoolVar(&f.interleaved, "interleaved", false,
		"the files hold runs that took turns: compare them pair by pair")
	addCount(cmd, &f.pairs, "pairs", 0, 0, mostCounted,
		"how many pairs to run at most (default 20, or more while that takes no 45s)")
	flags.BoolVar(&f.detail, "detail", false, "print every figure, not what fits a screen")
	f.sharedFlags.register(cmd, turns.DefaultMaxTime,
		"begin no pair that would end after this long", view.FormatBench)
}

// fileFlags and buildFlags belong to one of the two ways to compare.
var (
	fileFlags  = []string{"across", "interleaved"}
	buildFlags = []string{"pairs", "out", "seed", "max-time"}
)

func (f *compareFlags) run(cmd *cobra.Command, args []string) error {
	oldName, newName, runFlags := args[0], args[1], args[2:]
	oldIsFile, err := namesResults(oldName)
	if err != nil {
		return err
	}
	newIsFile, err := namesResults(newName)
	if err != nil {
		return err
	}
	switch {
	case oldIsFile != newIsFile:
		return usage(fmt.Errorf("%s is results and %s is a program: compare two of one kind",
			choose(oldIsFile, oldName, newName), choose(oldIsFile, newName, oldName)))
	case oldIsFile && len(runFlags) > 0:
		return usage(errors.New("flags behind -- are for the runs of two builds, not for files"))
	case oldIsFile:
		if err := refuseFlags(cmd, buildFlags, "is for two builds, not for files"); err != nil {
			return err
		}
		return f.compareFiles(cmd, oldName, newName)
	}
	if err := refuseFlags(cmd, fileFlags, "is for two files, not for builds"); err != nil {
		return err
	}
	return f.compareBuilds(cmd, oldName, newName, runFlags)
}

func choose(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// refuseFlags returns an error if a flag of those was given.
func refuseFlags(cmd *cobra.Command, names []string, why string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return usage(fmt.Errorf("--%s %s", name, why))
		}
	}
	return nil
}

// namesResults reports whether a word names results, and not a build of pipebench. Standard input,
// a folder, a FIFO, and a file that is no program are results.
func namesResults(word string) (bool, error) {
	if word == "-" {
		return true, nil
	}
	_, notFound := turns.Find(word)
	info, err := os.Stat(word)
	switch {
	case err != nil && notFound != nil:
		return false, fmt.Errorf("%s: no such file, and no such command", word)
	case err != nil:
		return false, nil // a command in PATH
	case !info.Mode().IsRegular() || notFound != nil:
		return true, nil
	}
	return beginsAsResults(word)
}

// beginsAsResults reports whether a file that may be executed holds results all the same, as on a
// file system that makes every file executable.
func beginsAsResults(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, err
	}
	text := strings.TrimSpace(string(head[:n]))
	for _, begin := range []string{"{", "goos:", "Benchmark"} {
		if strings.HasPrefix(text, begin) {
			return true, nil
		}
	}
	return false, nil
}

// compareFiles compares two files of results, or two texts of go test -bench.
func (f *compareFlags) compareFiles(cmd *cobra.Command, oldPath, newPath string) error {
	compare := f.compareSets
	if f.interleaved {
		compare = f.comparePairs
	}
	c, after, err := compare(cmd, oldPath, newPath)
	if err != nil {
		return err
	}
	if len(c.Changes) == 0 {
		return nothingInCommon(c, oldPath, newPath)
	}
	o := viewOptions(cmd, f.detail)
	if err := view.WriteComparison(cmd.OutOrStdout(), c, f.format, o); err != nil {
		return err
	}
	return allGates(f.judgeChanges(c), f.judge(cmd, f.format, after))
}

// nothingInCommon says what each side has instead.
func nothingInCommon(c *stat.Comparison, oldPath, newPath string) error {
	if len(c.Notes) > 0 && len(c.OnlyOld)+len(c.OnlyNew) == 0 {
		return fmt.Errorf("nothing of the two can be judged: %s", strings.Join(c.Notes, "; "))
	}
	if len(c.OnlyOld)+len(c.OnlyNew) == 0 {
		return errors.New("the two have none of the figures that were asked for (--metric)")
	}
	return fmt.Errorf("no cell is in both: %s has %s, %s has %s",
		oldPath, someNames(c.OnlyOld), newPath, someNames(c.OnlyNew))
}

func someNames(names []string) string {
	switch len(names) {
	case 0:
		return "none of its own"
	case 1:
		return names[0]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// compareSets compares two files that were measured at different times. It also returns what the
// new file holds, nil for benchmark text.
func (f *compareFlags) compareSets(
	cmd *cobra.Command, oldPath, newPath string,
) (*stat.Comparison, *results.Set, error) {
	before, err := interruptibly(cmd.Context(), oldPath, stat.ReadDataset)
	if err != nil {
		return nil, nil, err
	}
	after, err := interruptibly(cmd.Context(), newPath, stat.ReadDataset)
	if err != nil {
		return nil, nil, err
	}
	if (before.Set == nil) != (after.Set == nil) {
		return nil, nil, fmt.Errorf("%s and %s are of two kinds, records and benchmark text, "+
			"which name their figures differently: compare two of one kind", oldPath, newPath)
	}
	before.Name, after.Name = oldPath, newPath
	o := stat.CompareOptions{Across: f.across, Metrics: f.metrics}
	return stat.Compare(before, after, o), after.Set, nil
}

// comparePairs compares two files of runs that took turns, pair by pair.
func (f *compareFlags) comparePairs(
	cmd *cobra.Command, oldPath, newPath string,
) (*stat.Comparison, *results.Set, error) {
	o := stat.CompareOptions{Across: f.across, Metrics: f.metrics}
	old, oldErr := interruptibly(cmd.Context(), oldPath, stat.ReadDataset)
	new, newErr := interruptibly(cmd.Context(), newPath, stat.ReadDataset)
	if oldErr == nil && newErr == nil && old.Set == nil && new.Set == nil {
		old.Name, new.Name = oldPath, newPath
		return stat.CompareTextPairs(old, new, o), nil, nil
	}
	type sides struct{ before, after []*results.Set }
	read := func(string) (s sides, err error) {
		s.before, s.after, err = turns.Read(oldPath, newPath)
		return s, err
	}
	s, err := interruptibly(cmd.Context(), oldPath, read)
	if err != nil {
		return nil, nil, err
	}
	c, err := stat.ComparePairs(s.before, s.after, o)
	if err != nil {
		return nil, nil, err
	}
	c.Old, c.New = filepath.Base(oldPath), filepath.Base(newPath)
	return c, results.Merge(s.after...), nil
}

// spendOnPairs is the time for pairs beyond those that the number of comparisons asks for.
const spendOnPairs = 45 * time.Second

// compareBuilds runs two builds of pipebench in turns and compares the pairs.
func (f *compareFlags) compareBuilds(
	cmd *cobra.Command, oldName, newName string, runFlags []string,
) error {
	plan := turns.Plan{
		Flags:   append([]string{"--samples", "12"}, runFlags...),
		Pairs:   f.pairs,
		Spend:   spendOnPairs,
		MaxTime: f.maxTime,
		Seed:    f.seed,
	}
	if err := plan.Validate(); err != nil {
		return usage(err)
	}
	var err error
	plan.Old, err = turns.Find(oldName)
	if err != nil {
		return err
	}
	plan.New, err = turns.Find(newName)
	if err != nil {
		return err
	}
	if plan.Old.Same(plan.New) {
		f.say(cmd, "pipebench: both binaries are the same file: whatever is found is noise")
	}
	if f.out == "-" {
		return usage(errors.New("the runs of two builds need a folder: name one by --out"))
	}
	plan.Dir, err = f.makeFolder()
	if err != nil {
		return err
	}
	progress := f.progress(cmd.ErrOrStderr())
	o := stat.CompareOptions{Metrics: f.metrics}
	plan.Decided = func(before, after []*results.Set) bool {
		c, err := stat.ComparePairs(before, after, o)
		return err == nil && len(before) >= stat.LeastPairs && c.Conclusive()
	}
	plan.Observe = func(_, of int, took time.Duration) {
		progress.finish(of, took.Round(10*time.Millisecond).String())
	}
	before, after, err := turns.Run(cmd.Context(), plan)
	progress.stop()
	if err != nil {
		if len(before) > 0 {
			f.say(cmd, "pipebench: %d pairs are saved in %s; compare --interleaved shows them",
				len(before), plan.Dir)
		}
		return usageOfRun(err)
	}
	c, err := stat.ComparePairs(before, after, o)
	if err != nil {
		return err
	}
	c.Old, c.New = oldName, newName
	return f.finishBuilds(cmd, plan.Dir, c, results.Merge(after...))
}

// finishBuilds keeps the comparison as benchmark text beside its records, shows it, and judges it.
func (f *compareFlags) finishBuilds(
	cmd *cobra.Command, dir string, c *stat.Comparison, after *results.Set,
) error {
	var text bytes.Buffer
	if err := view.WriteComparison(&text, c, view.FormatBench, view.Options{}); err != nil {
		return err
	}
	if err := results.ReplaceFile(filepath.Join(dir, benchFile), text.Bytes(), 0o666); err != nil {
		return fmt.Errorf("keep the comparison: %w", err)
	}
	o := viewOptions(cmd, f.detail)
	if err := view.WriteComparison(cmd.OutOrStdout(), c, f.format, o); err != nil {
		return err
	}
	f.say(cmd, "pipebench: saved in %s: %s, %s and %s",
		dir, turns.OldFile, turns.NewFile, benchFile)
	return allGates(f.judgeChanges(c), f.judge(cmd, f.format, after))
}

// usageOfRun gives flags that a build's run command does not take the exit code that they have
// there.
func usageOfRun(err error) error {
	failed, ok := errors.AsType[*turns.FailedError](err)
	if ok && failed.Code == exitUsage {
		return usage(err)
	}
	return err
}
