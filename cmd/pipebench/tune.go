package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/measure"
	"github.com/pipebench/pipebench/scenarios/tune"
	"github.com/pipebench/pipebench/syspipe/script"
)

// tuneFlags are what tune was asked for, as it was typed.
type tuneFlags struct {
	options  tune.Options
	noLevers bool
	assertFlags
	sharedFlags
}

func (f *tuneFlags) register(cmd *cobra.Command) {
	f.options = tune.Default()
	o, c := &f.options, &f.options.Cell
	flags := cmd.Flags()
	objectives := stat.Map(tune.Objectives, func(o [2]string) string { return fmt.Sprintf("%s (%s)", o[0], o[1]) })
	addParsed(cmd, &o.Objective, "objective", string(o.Objective), tune.ParseObjective, "what goodput is worth against wait: "+strings.Join(objectives, ", "))
	addList(cmd, &o.Chunks, "chunk", "", measure.ParseSizes, "sizes to choose from, bytes of a whole frame (default 512..1MiB and 60KiB)")
	addList(cmd, &o.Drains, "drain", "full,200MB/s,20MB/s", each(tune.ParseDrain), "how fast readers take bytes")
	addParsed(cmd, &c.Size, "size", "1MiB", parseSize, "of the large messages")
	flags.StringVar(&o.Recording, "messages", "", "stream a recording (see tap), or a file with a message a line, instead of generated messages")
	flags.Float64Var(&c.Rate, "rate", c.Rate, "small messages a second that are due meanwhile")
	flags.StringVar(&c.Pipe, "pipe", c.Pipe, "kind of pipe")
	addParsed(cmd, &c.Capacity, "capacity", "", parseSize, "of the pipe (default the system's)")
	flags.StringVar(&c.IO, "io", c.IO, "how the ends wait: one value for both, or writer/reader")
	flags.StringVar(&c.Placement, "placement", c.Placement, "where the ends run")
	flags.StringVar(&c.Payload, "payload", c.Payload, "what generated messages are made of")
	flags.BoolVar(&f.noLevers, "no-levers", false, "try nothing but chunk sizes")
	flags.BoolVar(&f.detail, "detail", false, "print every cell, not only those of which none waits less at as much goodput")
	addDuration(cmd, &o.Duration, "duration", o.Duration, "of one sample, about")
	f.registerAsserts(cmd, "exit 3 unless this holds for the recommended size, such as 'p99<1ms', and 4 where it cannot be told")
	f.sharedFlags.register(cmd, o.MaxTime, beginNone, view.FormatBench)
}

func (f *tuneFlags) run(cmd *cobra.Command, _ []string) {
	o := f.options
	o.Seed, o.Variants, o.MaxTime = f.seed, !f.noLevers, f.maxTime
	if o.Recording != "" {
		recording := script.Must(interruptibly(cmd.Context(), o.Recording, payload.ReadRecording))
		o.Cell.Size, o.Cell.Payload, o.Cell.Messages = 0, payload.Recorded, recording.Hash
	}
	script.Check(usage(o.Validate()))
	script.Check(bench.Unsupported(o.Cell))
	f.measure(cmd, task{
		work: func(ctx context.Context, s *session) {
			o.Run = s.run
			best := 0
			o.Observe = func(p tune.Progress) {
				if p.Sample == 1 || p.Decision.Best != best {
					s.progress.note(tuneLine(p)) // a log has a line a cell, and one where the answer changes
				} else {
					s.progress.step(tuneLine(p))
				}
				best = p.Decision.Best
				s.progress.units(int(p.Elapsed.Seconds()), int(o.MaxTime.Seconds()))
			}
			script.Check(tune.Run(ctx, o, func(t results.Tune) error { return s.Write(t) }))
		},
		show: func(_, own *results.Set) {
			script.Check(tune.View(cmd.OutOrStdout(), f.format, own, o.Objective, viewOptions(cmd, f.detail)))
		},
		bench: stat.TuneMeasurements,
		gate:  func(_ error, own *results.Set) { script.Check(f.judgeAnswer(cmd, own)) },
	})
}

// tuneLine describes a finished sample, and the best size by then.
func tuneLine(p tune.Progress) string {
	reader := "full speed"
	if p.Cell.Drain > 0 {
		reader = results.FormatGoodput(float64(p.Cell.Drain))
	}
	p.Cell.Drain = 0 // said in words
	line := fmt.Sprintf("%4.1fs %s, reader at %s: sample %d", p.Elapsed.Seconds(), bench.Label(p.Cell), reader, p.Sample)
	if d := p.Decision; d.Best > 0 {
		line += fmt.Sprintf("; %s so far, ±%s", results.FormatSize(int64(d.Best)), results.FormatPercent(100*d.Margin))
	}
	return line
}

// judgeAnswer gives the run its exit code: assertions are about the recommended size, and where
// noise hides that, there is no answer.
func (f *tuneFlags) judgeAnswer(cmd *cobra.Command, set *results.Set) error {
	if tune.Decide(set.Tunes, f.options.Objective).Inconclusive() {
		return &statusError{exitInconclusive, errors.New("no size can be recommended: noise hides it, or the time was too short; close other programs, or give it more (--max-time)")}
	}
	recommended := stat.Filter(set.Tunes, func(t results.Tune) bool { return t.Recommended })
	return f.judge(cmd, f.format, &results.Set{Environments: set.Environments, Tunes: recommended})
}
