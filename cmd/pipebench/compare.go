package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/abtest"
	"github.com/pipebench/pipebench/scenarios/doctor"
)

// compareFlags are what compare was asked for.
type compareFlags struct {
	gateFlags
	pairs  bool
	noise  []string
	format string
	quiet  bool
}

func newCompare() *cobra.Command {
	f := &compareFlags{}
	cmd := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Compare two files of results",
		Long: `Compare two files of results, cell by cell: results.jsonl, a folder that holds one, or
the text of go test -bench.

What is counted (calls, wire bytes, allocations a message) is compared exactly. What is
timed gets a verdict only beyond what figures of this machine do by themselves, which
doctor has to have watched for as long as the two files are apart; else it reads
"unpaired, indicative". The way to a verdict is ab, which runs two builds in pairs.`,
		Example: `  pipebench compare main/results.jsonl branch/results.jsonl
  pipebench compare --fail-above 5% --format markdown old.jsonl new.jsonl
  pipebench compare --pairs out/old.jsonl out/new.jsonl
  pipebench compare old-bench.txt new-bench.txt`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage(fmt.Errorf("compare takes two files, the old and the new results, but was given %d", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1]) },
	}
	f.register(cmd)
	return cmd
}

func (f *compareFlags) register(cmd *cobra.Command) {
	f.gateFlags.register(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.across, "across", false, "give verdicts between different machines, too")
	flags.BoolVar(&f.pairs, "pairs", false, "the files are those that ab left: compare them pair by pair")
	flags.StringSliceVar(&f.noise, "noise", nil, "files with what doctor found, besides those it kept for this user")
	registerFormat(cmd, &f.format)
	flags.BoolVar(&f.quiet, "quiet", false, "print the comparison alone: no warnings")
}

func (f *compareFlags) run(cmd *cobra.Command, oldPath, newPath string) error {
	gate, err := f.gate()
	if err != nil {
		return usage(err)
	}
	var c *stat.Comparison
	var after *results.Set
	if f.pairs {
		c, after, err = f.comparePairs(oldPath, newPath)
	} else {
		c, after, err = f.compare(cmd.ErrOrStderr(), oldPath, newPath)
	}
	if err != nil {
		return err
	}
	if len(c.Changes) == 0 {
		return nothingInCommon(c, oldPath, newPath)
	}
	if err := view.WriteComparison(cmd.OutOrStdout(), c, view.Format(f.format), view.Options{}); err != nil {
		return err
	}
	return allGates(gate.judge(c), gate.asserted(cmd, f.format, after))
}

// compare also returns what the new side's file holds, nil of benchmark text.
func (f *compareFlags) compare(stderr io.Writer, oldPath, newPath string) (*stat.Comparison, *results.Set, error) {
	before, err := stat.ReadDataset(oldPath)
	if err != nil {
		return nil, nil, err
	}
	after, err := stat.ReadDataset(newPath)
	if err != nil {
		return nil, nil, err
	}
	if (before.Set == nil) != (after.Set == nil) {
		return nil, nil, fmt.Errorf("%s and %s are of two kinds, records and benchmark text, which name their figures differently: compare two of one kind", oldPath, newPath)
	}
	known, err := f.known(slices.Concat(before.Series, after.Series))
	if err != nil {
		return nil, nil, err
	}
	for _, p := range known.Problems {
		f.warn(stderr, p)
	}
	before.Name, after.Name = oldPath, newPath
	c := stat.Compare(before, after, stat.CompareOptions{Noise: known.Noise, Across: f.across, Metrics: f.metrics})
	return c, after.Set, nil
}

func (f *compareFlags) warn(stderr io.Writer, p results.Problem) {
	if !f.quiet {
		fmt.Fprintln(stderr, "pipebench:", p)
	}
}

// known is what doctor found of the machines that the series are from: in the
// user's cache, and in the files named.
func (f *compareFlags) known(series []stat.Series) (*results.Set, error) {
	paths := slices.Clone(f.noise)
	var seen []string
	for _, s := range series {
		if s.Machine == "" || s.Cell == nil || slices.Contains(seen, s.Machine) {
			continue
		}
		seen = append(seen, s.Machine)
		path, err := doctor.File(s.Machine)
		if err != nil {
			continue // a user without a cache folder has nothing in it
		}
		if _, err := os.Stat(path); err == nil {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return &results.Set{}, nil
	}
	return results.Read(paths...)
}

func (f *compareFlags) comparePairs(oldPath, newPath string) (*stat.Comparison, *results.Set, error) {
	before, after, err := abtest.Read(oldPath, newPath)
	if err != nil {
		return nil, nil, err
	}
	c, err := comparePairs(before, after, filepath.Base(oldPath), filepath.Base(newPath), stat.CompareOptions{Across: f.across, Metrics: f.metrics})
	return c, results.Merge(after...), err
}

// comparePairs names the sides of a comparison of pairs.
func comparePairs(before, after []*results.Set, oldName, newName string, o stat.CompareOptions) (*stat.Comparison, error) {
	c, err := stat.ComparePairs(before, after, o)
	if err != nil {
		return nil, err
	}
	c.Old, c.New = oldName, newName
	for _, side := range [][]*results.Set{before, after} {
		for _, set := range side {
			for _, p := range set.Problems {
				c.Notes = append(c.Notes, p.String())
			}
		}
	}
	return c, nil
}

// nothingInCommon names what each side has instead.
func nothingInCommon(c *stat.Comparison, oldPath, newPath string) error {
	if len(c.OnlyOld)+len(c.OnlyNew) == 0 {
		return errors.New("the two have none of the figures that were asked for (--metric)")
	}
	return fmt.Errorf("no cell is in both: %s has %s, %s has %s", oldPath, some(c.OnlyOld), newPath, some(c.OnlyNew))
}

// some is the first of several names, and how many more there are.
func some(names []string) string {
	switch len(names) {
	case 0:
		return "none of its own"
	case 1:
		return names[0]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}
