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

// abFlags are what ab was asked for.
type abFlags struct {
	gateFlags
	pairs   int
	maxTime time.Duration
	shared  sharedFlags
}

func newAB() *cobra.Command {
	f := &abFlags{shared: sharedFlags{part: "pair"}}
	cmd := &cobra.Command{
		Use:   "ab OLD-BINARY NEW-BINARY [flags] [-- RUN-FLAGS]",
		Short: "Compare two builds of pipebench in interleaved pairs",
		Long: `Compare two builds of pipebench. Both run the same cells, one right after the other and
in an order left to chance, pair by pair, so that what moves the machine moves both. Times
get a verdict by the signed-rank test on the pairs, at a level of 1 % for all comparisons
together (Holm's correction); calls, wire bytes and allocations a message are compared
exactly. The column least is the change that so many pairs would have found four times out
of five: where that is too much, run more pairs.

What stands behind -- goes to the run command of both; a run takes one sample of each cell
(--samples 1) where that does not say otherwise, as more pairs tell more than more samples
do.`,
		Example: `  pipebench ab ./pipebench-main ./pipebench-branch
  pipebench ab ./old ./new --fail-above 5% -- --framing ndjson,chunked --size 4KiB,64KiB --placement same
  pipebench ab ./old ./new --pairs 30 --metric goodput --format markdown -- --pattern stream`,
		Args: func(cmd *cobra.Command, args []string) error {
			if n := binaries(cmd, args); n != 2 {
				return usage(fmt.Errorf("ab takes two binaries, the old and the new one, but was given %d; flags for run go behind --", n))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1], args[2:]) },
	}
	f.register(cmd)
	return cmd
}

// binaries counts the arguments before --.
func binaries(cmd *cobra.Command, args []string) int {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		return dash
	}
	return len(args)
}

func (f *abFlags) register(cmd *cobra.Command) {
	f.gateFlags.register(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.pairs, "pairs", 0, "how many pairs to run (default what the number of comparisons asks for, at least 20)")
	flags.DurationVar(&f.maxTime, "max-time", abtest.DefaultMaxTime, "begin no pair that would end after this long")
	f.shared.register(cmd, "a folder for the records of both (default pipebench-out/<time>)")
}

func (f *abFlags) run(cmd *cobra.Command, oldName, newName string, flags []string) error {
	gate, err := f.gate()
	if err != nil {
		return usage(err)
	}
	plan, err := f.plan(oldName, newName, flags)
	if err != nil {
		return err
	}
	if plan.Old.Same(plan.New) {
		f.shared.say(cmd, "pipebench: both binaries are the same file: whatever is found is noise")
	}
	before, after, err := f.measure(cmd, plan)
	if err != nil {
		if len(before) > 0 {
			f.shared.say(cmd, "pipebench: %d pairs are kept in %s; compare --pairs shows them", len(before), plan.Dir)
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
	return allGates(gate.judge(c), gate.asserted(cmd, f.shared.format, results.Merge(after...)))
}

func (f *abFlags) plan(oldName, newName string, flags []string) (abtest.Plan, error) {
	p := abtest.Plan{
		Flags: append([]string{"--samples", "1"}, flags...),
		Pairs: f.pairs, MaxTime: f.maxTime, Seed: f.shared.seed, Dir: f.shared.folder(),
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

func (f *abFlags) measure(cmd *cobra.Command, p abtest.Plan) (before, after []*results.Set, err error) {
	progress := f.shared.progress(cmd.ErrOrStderr())
	defer progress.stop()
	p.Observe = func(at abtest.Progress) { progress.finish(at.Of, at.Took.Round(10*time.Millisecond).String()) }
	return abtest.Run(cmd.Context(), p)
}

// usageOfRun gives flags that a binary's run does not take the exit code that
// they have there.
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
	if err := view.WriteComparison(cmd.OutOrStdout(), c, view.Format(f.shared.format), view.Options{}); err != nil {
		return err
	}
	f.shared.say(cmd, "pipebench: kept in %s: %s, %s and %s", dir, abtest.OldFile, abtest.NewFile, benchFile)
	return nil
}
