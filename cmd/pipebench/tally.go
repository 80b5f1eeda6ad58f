package main

import (
	"fmt"
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// A tally tells how many of several invocations are done.
type tally interface {
	step(done, of int, took time.Duration)
	stop()
}

// tally is a bar where stderr is a terminal, else a plain line a step.
func (f *sharedFlags) tally(stderr io.Writer, what string) tally {
	switch {
	case f.quiet || f.noProgress:
		return noTally{}
	case isTerminal(stderr):
		container := mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(48))
		return &tallyBar{container, container.AddBar(0,
			mpb.PrependDecorators(decor.Name(what+"s ")),
			mpb.AppendDecorators(decor.CountersNoUnit("%d of %d"), decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO, decor.WC{W: 6}), "")))}
	}
	return tallyLines{stderr, what}
}

type noTally struct{}

func (noTally) step(int, int, time.Duration) {}
func (noTally) stop()                        {}

type tallyLines struct {
	stderr io.Writer
	what   string
}

func (l tallyLines) step(done, of int, took time.Duration) {
	fmt.Fprintf(l.stderr, "%s %d/%d: %s\n", l.what, done, of, took.Round(10*time.Millisecond))
}

func (tallyLines) stop() {}

type tallyBar struct {
	container *mpb.Progress
	bar       *mpb.Bar
}

func (b *tallyBar) step(done, of int, _ time.Duration) {
	b.bar.SetTotal(int64(of), false) // known from the first step on
	b.bar.SetCurrent(int64(done))
}

// stop takes away a bar that is short of its total: it would be waited for for
// ever.
func (b *tallyBar) stop() {
	if !b.bar.Completed() {
		b.bar.Abort(true)
	}
	b.container.Wait()
}
