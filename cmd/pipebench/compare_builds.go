package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/turns"
)

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
