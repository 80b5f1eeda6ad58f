package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/tune"
)

type tuneFlags struct {
	objective tune.Objective
	options   tune.Options
	samples   int
	sharedFlags
}

func (f *tuneFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	var objectives []string
	for _, o := range tune.Objectives {
		objectives = append(objectives, o[0]+" ("+o[1]+")")
	}
	addParsed(cmd, &f.objective, "objective", string(tune.Balanced), tune.ParseObjective,
		"what counts: "+strings.Join(objectives, "; "))
	addParsed(cmd, &f.options.Size, "size", "1000000", parseSize,
		"size of the large messages in bytes")
	flags.StringVar(&f.options.Framing, "framing", "ndjson",
		"framing of the messages that are not cut into chunks")
	addCount(cmd, &f.samples, "samples", countFlag{usual: 12, least: 1}, samplesUsage)
	flags.BoolVar(&f.detail, "detail", false, "print the figures of all ways to send")
	f.sharedFlags.register(cmd, time.Minute, "stop measuring after this long", view.FormatBench)
}

// run compares ways to send large messages, by measuring or by the records in files. The words
// after "--" are the command of the user's own program that reads messages.
func (f *tuneFlags) run(cmd *cobra.Command, args []string) error {
	files, command := beforeAndAfterDash(cmd, args)
	if err := f.check(); err != nil {
		return usageError(err)
	}
	var reader *tune.ReaderCost // of the user's command; nil if there is none
	if len(command) > 0 {
		cost, err := tune.MeasureReader(cmd.Context(), f.options.Size, command[0], command[1:]...)
		if err != nil {
			return fmt.Errorf("measure the reader: %w", err)
		}
		reader = &cost
	}
	var plan bench.Plan
	if len(files) == 0 {
		var err error
		plan, err = f.makePlan()
		if err != nil {
			return usageError(err)
		}
	}
	return f.do(cmd, files, task{
		limit: hardLimit(plan),
		measure: func(ctx context.Context, s *session) error {
			return f.measureGrid(ctx, s, plan, reader)
		},
		show: func(found *results.Set) error {
			d := tune.Decide(found.Records, f.objective)
			if len(files) > 0 && !d.Measured() {
				return usageError(errors.New(d.Unproven + "; to measure: pipebench tune"))
			}
			return f.show(cmd, found, d.Answer(reader))
		},
		gate: func(found *results.Set) error {
			unproven := tune.Decide(found.Records, f.objective).Unproven
			if unproven == "" || reader != nil && reader.Parses() {
				return nil
			}
			return &statusError{exitInconclusive, errors.New("no advice is certain: " + unproven)}
		},
	})
}

// Bounds of the size of the large messages, in bytes.
const (
	minSize = 4 * bench.SmallSize
	maxSize = 64 << 20
)

// check returns an error if the flags ask for something that cannot be tuned.
func (f *tuneFlags) check() error {
	if f.options.Size < minSize {
		return fmt.Errorf("--size %d: the large messages have to be at least %d B, as small ones "+
			"of %d B wait behind them", f.options.Size, minSize, bench.SmallSize)
	}
	if f.options.Size > maxSize {
		return fmt.Errorf("--size %d: chunks carry at most 64 MiB", f.options.Size)
	}
	framing, err := framers.Parse(f.options.Framing)
	if err != nil {
		return err
	}
	_, splits := framing.(framers.Chunker)
	if splits || f.options.Framing == results.FramingRaw {
		return fmt.Errorf("--framing %s: name the framing of messages that are not cut, such as "+
			"ndjson or content-length; tune compares chunks with it", f.options.Framing)
	}
	return nil
}

// makePlan returns the plan of what to measure, or an error if that plan is impossible.
func (f *tuneFlags) makePlan() (bench.Plan, error) {
	topology, err := placement.Read()
	if err != nil {
		return bench.Plan{}, err
	}
	p := bench.Plan{
		Cells:    tune.Cells(topology, f.options),
		Samples:  f.samples,
		Duration: tune.SliceTime,
		MaxTime:  f.maxTime,
		Seed:     f.seed,
	}
	return p, p.Validate()
}

// measureGrid measures the plan. It writes the records, and the answer that follows from them:
// which way to send is best.
func (f *tuneFlags) measureGrid(
	ctx context.Context, s *session, plan bench.Plan, reader *tune.ReaderCost,
) error {
	s.progress.within(plan.MaxTime)
	planErr := s.runPlan(ctx, plan) // if only some cells were measured, they give an answer, too
	set, err := s.read()
	if err != nil {
		return errors.Join(planErr, err)
	}
	measured := set.OfRun(s.run).Records
	if len(measured) == 0 {
		return planErr
	}
	answer := tune.Decide(measured, f.objective).Answer(reader)
	return errors.Join(planErr, s.keep(answer.Finding()))
}

// show prints the answer that follows from the records of a set: which way to send is best.
func (f *tuneFlags) show(cmd *cobra.Command, set *results.Set, answer tune.Answer) error {
	if len(set.Records) == 0 {
		return view.ErrNothing
	}
	switch f.format {
	case view.FormatBench:
		return view.WriteBench(cmd.OutOrStdout(), set)
	case view.FormatJSON:
		return view.WriteJSON(cmd.OutOrStdout(), answer)
	}
	detail := f.detail || f.format != view.FormatTable
	return answer.Page(detail).Write(cmd.OutOrStdout(), f.format, viewOptions(cmd, f.detail))
}
