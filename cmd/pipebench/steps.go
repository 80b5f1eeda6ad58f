package main

import (
	"fmt"
	"io"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// A stepper tells the person who waits how far a list of experiments is.
type stepper interface {
	step(what string) // what is being done
	done(what string) // an experiment is finished, and how it turned out
	stop()
}

// notes is a bar where stderr is a terminal, else a plain line for each
// experiment that is finished.
func (f *sharedFlags) notes(stderr io.Writer, total int) stepper {
	switch {
	case f.quiet || f.noProgress:
		return mute{}
	case isTerminal(stderr):
		return newStepBar(stderr, total)
	}
	return &stepLines{stderr: stderr, total: total}
}

type mute struct{}

func (mute) step(string) {}
func (mute) done(string) {}
func (mute) stop()       {}

type stepLines struct {
	stderr         io.Writer
	total, counted int
}

func (l *stepLines) step(string) {}

func (l *stepLines) done(what string) {
	l.counted++
	fmt.Fprintf(l.stderr, "%d/%d %s\n", l.counted, l.total, what)
}

func (l *stepLines) stop() {}

// A stepBar is one bar with what is being done beside it.
type stepBar struct {
	container *mpb.Progress
	bar       *mpb.Bar
	now       chan string // holds the latest step
}

// stepWidth is how much of a step is shown beside the bar.
const stepWidth = 48

func newStepBar(stderr io.Writer, total int) *stepBar {
	b := &stepBar{container: mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(32)), now: make(chan string, 1)}
	last := ""
	b.bar = b.container.AddBar(int64(total),
		mpb.PrependDecorators(decor.CountersNoUnit("%d of %d")),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			select {
			case last = <-b.now:
			default:
			}
			return last
		})))
	return b
}

func (b *stepBar) step(what string) {
	if runes := []rune(what); len(runes) > stepWidth {
		what = string(runes[:stepWidth])
	}
	select {
	case <-b.now: // nobody has drawn it
	default:
	}
	b.now <- what
}

func (b *stepBar) done(string) { b.bar.Increment() }

// stop takes an unfinished bar away: it would be waited for for ever.
func (b *stepBar) stop() {
	if !b.bar.Completed() {
		b.bar.Abort(true)
	}
	b.container.Wait()
}
