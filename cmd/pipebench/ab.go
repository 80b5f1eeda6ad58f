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
	"github.com/pipebench/pipebench/scenarios/abtest"
	"github.com/pipebench/pipebench/scenarios/subrun"
)

// abFlags are what ab was asked for, as it was typed.
type abFlags struct {
	gateFlags
	pairs int
	sharedFlags
}

func (f *abFlags) register(cmd *cobra.Command) {
	f.part = "pair"
	f.gateFlags.register(cmd)
	addCount(cmd, &f.pairs, "pairs", 0, 0, mostCounted, "how many pairs to run (default what the number of comparisons asks for, at least 20)")
	cmd.Flags().BoolVar(&f.detail, "detail", false, allChanges)
	f.sharedFlags.register(cmd, abtest.DefaultMaxTime, "begin no pair that would end after this long", view.FormatBench)
}

func (f *abFlags) run(cmd *cobra.Command, args []string) error {
	oldName, newName := args[0], args[1]
	plan, err := f.plan(oldName, newName, args[2:])
	if err != nil {
		return err
	}
	if plan.Old.Same(plan.New) {
		f.say(cmd, "pipebench: both binaries are the same file: whatever is found is noise")
	}
	progress := f.progress(cmd.ErrOrStderr())
	plan.Observe = func(_, of int, took time.Duration) { progress.finish(of, took.Round(10*time.Millisecond).String()) }
	before, after, err := abtest.Run(cmd.Context(), plan)
	progress.stop()
	if err != nil {
		if len(before) > 0 {
			f.say(cmd, "pipebench: %d pairs are saved in %s; compare --pairs shows them", len(before), plan.Dir)
		}
		return usageOfRun(err)
	}
	c, err := comparePairs(before, after, oldName, newName, stat.CompareOptions{Metrics: f.metrics})
	if err != nil {
		return err
	}
	if err := f.show(cmd, plan.Dir, c); err != nil {
		return err
	}
	return allGates(f.judgeChanges(c), f.judge(cmd, f.format, results.Merge(after...)))
}

func (f *abFlags) plan(oldName, newName string, flags []string) (abtest.Plan, error) {
	p := abtest.Plan{
		Flags: append([]string{"--samples", "12"}, flags...),
		Pairs: f.pairs, Spend: 45 * time.Second, MaxTime: f.maxTime, Seed: f.seed, Dir: f.folder(),
	}
	if err := p.Validate(); err != nil {
		return p, usage(err)
	}
	var err error
	if p.Old, err = subrun.Find(oldName); err != nil {
		return p, err
	}
	p.New, err = subrun.Find(newName)
	return p, err
}

// usageOfRun gives flags that a binary's run does not take the exit code that they have there.
func usageOfRun(err error) error {
	var failed *subrun.FailedError
	if errors.As(err, &failed) && failed.Code == exitUsage {
		return usage(err)
	}
	return err
}

// show prints the comparison, and leaves it beside the records for benchstat.
func (f *abFlags) show(cmd *cobra.Command, dir string, c *stat.Comparison) error {
	var text bytes.Buffer
	if err := view.WriteComparison(&text, c, view.FormatBench, view.Options{}); err != nil {
		return err
	}
	if err := results.ReplaceFile(filepath.Join(dir, benchFile), text.Bytes()); err != nil {
		return fmt.Errorf("keep the comparison: %w", err)
	}
	if err := view.WriteComparison(cmd.OutOrStdout(), c, f.format, viewOptions(cmd, f.detail)); err != nil {
		return err
	}
	f.say(cmd, "pipebench: saved in %s: %s, %s and %s", dir, abtest.OldFile, abtest.NewFile, benchFile)
	return nil
}
