package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/measure"
	"github.com/pipebench/pipebench/scenarios/tune"
)

// tuneFlags are what tune was asked for, as it was typed.
type tuneFlags struct {
	objective, size, capacity, messages string
	chunks                              []int
	pipe, io, placement, payload        string
	drains                              []string

	rate              float64
	duration, maxTime time.Duration
	noLevers          bool
	assertFlags
	shared sharedFlags
}

func newTune() *cobra.Command {
	f := &tuneFlags{}
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Choose a chunk size on evidence",
		Long: `Find the chunk size that is worth its price on this machine.

Large messages stream through a pipe in chunks, and small ones fall due meanwhile: measured
is what all of them cost, and how long the small ones wait, for chunks of 512 B to 1 MiB and for
readers that take all they can, 200 MB/s, or 20 MB/s. The search is coarse first, then where
the answer lies, until no other size can be better by more than 5 %, or the time is up. Of
the sizes that are worth the same within 5 %, the smallest is recommended.

Messages that are not cut (ndjson) are measured beside it, and what may do more than any
chunk size: a smaller pipe, a sender that keeps unread bytes below a watermark, and one that
sizes its frames by the stream's rate. What the choice costs is tried with messages of 64 KiB
and 16 MiB, too.

An assertion is about the recommended size; name a reader with @drain=BYTES.`,
		Example: `  pipebench tune
  pipebench tune --objective latency --drain 20MB/s,full
  pipebench tune --size 16MiB --capacity 16KiB --max-time 3m
  pipebench tune --messages session.ndjson
  pipebench tune --assert 'p99<1ms@drain=200000000' --format json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.tune(cmd) },
	}
	f.register(cmd)
	return cmd
}

func (f *tuneFlags) register(cmd *cobra.Command) {
	d := tune.Default()
	flags := cmd.Flags()
	flags.StringVar(&f.objective, "objective", string(d.Objective), "what goodput is worth against wait: "+objectives())
	addParsed(cmd, &f.chunks, "chunk", measure.ParseSizes, "sizes to choose from, bytes of a whole frame (default 512..1MiB and 60KiB)")
	flags.StringSliceVar(&f.drains, "drain", []string{"full", "200MB/s", "20MB/s"}, "how fast readers take bytes")
	flags.StringVar(&f.size, "size", "1MiB", "of the large messages")
	flags.StringVar(&f.messages, "messages", "", "stream a recording (see tap), or a file with a message a line, instead of generated messages")
	flags.Float64Var(&f.rate, "rate", d.Cell.Rate, "small messages a second that fall due meanwhile")
	flags.StringVar(&f.pipe, "pipe", d.Cell.Pipe, "kind of pipe")
	flags.StringVar(&f.capacity, "capacity", "", "of the pipe (default the system's)")
	flags.StringVar(&f.io, "io", d.Cell.IO, "how the ends wait: one value for both, or writer/reader")
	flags.StringVar(&f.placement, "placement", d.Cell.Placement, "where the ends run")
	flags.StringVar(&f.payload, "payload", d.Cell.Payload, "what generated messages are made of")
	flags.BoolVar(&f.noLevers, "no-levers", false, "try nothing but chunk sizes")
	flags.DurationVar(&f.duration, "duration", d.Duration, "of one sample, about")
	flags.DurationVar(&f.maxTime, "max-time", d.MaxTime, "begin no sample after this long")
	f.registerAsserts(cmd, "exit 3 unless this holds for the recommended size, such as 'p99<1ms', and 4 where it cannot be told")
	f.shared.register(cmd, "a folder for the files of the run (default pipebench-out/<time>)")
}

func objectives() string {
	var out []string
	for _, o := range tune.Objectives() {
		out = append(out, fmt.Sprintf("%s (%s)", o[0], o[1]))
	}
	return strings.Join(out, ", ")
}

// options makes of the flags what to tune.
func (f *tuneFlags) options() (tune.Options, error) {
	o := tune.Default()
	o.Seed, o.Variants, o.Duration, o.MaxTime = f.shared.seed, !f.noLevers, f.duration, f.maxTime
	c := &o.Cell
	c.Pipe, c.IO, c.Placement, c.Payload, c.Rate = f.pipe, f.io, f.placement, f.payload, f.rate
	var err error
	if o.Objective, err = tune.ParseObjective(f.objective); err != nil {
		return o, err
	}
	if c.Size, err = sizeFlag("size", f.size); err != nil {
		return o, err
	}
	if c.Capacity, err = sizeFlag("capacity", f.capacity); err != nil {
		return o, err
	}
	if len(f.chunks) > 0 {
		o.Chunks = f.chunks
	}
	o.Drains = nil
	for _, text := range f.drains {
		d, err := tune.ParseDrain(text)
		if err != nil {
			return o, fmt.Errorf("--drain: %w", err)
		}
		o.Drains = append(o.Drains, d)
	}
	if err := f.replay(&o); err != nil {
		return o, err
	}
	if o.Run, err = results.NewRun(); err != nil {
		return o, err
	}
	return o, o.Validate()
}

// replay puts a recording's messages in place of generated ones.
func (f *tuneFlags) replay(o *tune.Options) error {
	if f.messages == "" {
		return nil
	}
	recording, err := payload.ReadRecording(f.messages)
	if err != nil {
		return unread(err)
	}
	o.Recording = f.messages
	o.Cell.Size, o.Cell.Payload, o.Cell.Messages = 0, payload.Recorded, recording.Hash
	return nil
}

func (f *tuneFlags) tune(cmd *cobra.Command) error {
	o, err := f.options()
	if err != nil {
		return planError(err)
	}
	if why := bench.Unsupported(o.Cell); why != nil {
		return why
	}
	return f.shared.measure(cmd, task{
		run: o.Run,
		work: func(ctx context.Context, s *session) error {
			o.Observe = func(p tune.Progress) {
				s.progress.note(tuneLine(p))
				s.progress.units(int(p.Elapsed.Seconds()), int(o.MaxTime.Seconds()))
			}
			return tune.Run(ctx, o, func(t results.Tune) error { return s.Write(t) })
		},
		show: func(_, own *results.Set) error {
			return tune.View(cmd.OutOrStdout(), view.Format(f.shared.format), own, o.Objective)
		},
		bench: view.TuneMeasurements, page: true,
		gate: func(_ error, own *results.Set) error { return f.judge(cmd, own, o, f.asserts) },
	})
}

// tuneLine is a finished sample, and what is thought by then.
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

// judge gives the run its exit code: assertions are about what is recommended, and noise that hides
// that is no answer.
func (f *tuneFlags) judge(cmd *cobra.Command, set *results.Set, o tune.Options, asserts []stat.Assert) error {
	if tune.Decide(set.Tunes, o.Objective).Inconclusive() {
		return &statusError{exitInconclusive, errors.New("no size can be recommended: noise hides it, or the time was too short; stop what else runs, or give it more (--max-time)")}
	}
	recommended := &results.Set{Environments: set.Environments}
	for _, t := range set.Tunes {
		if t.Recommended {
			recommended.Add(t)
		}
	}
	return evaluateAsserts(cmd, f.shared.format, asserts, func(a stat.Assert) stat.Assertion { return a.Evaluate(recommended) })
}
