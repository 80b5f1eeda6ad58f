package main

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/pipebench/pipebench/results/view"
)

// A progress shows how much of a command is done. On a terminal it is a bar, and elsewhere a line
// for each finished part. A nil progress shows nothing.
type progress struct {
	stderr    io.Writer
	part      string      // what one part is called; "" if it has no name
	done      int         // parts that are finished
	showUnits bool        // the bar shows units of work, not finished parts
	percent   atomic.Bool // the bar shows a percentage, because units mean nothing to a person
	full      bool        // the bar has reached its total
	container *mpb.Progress
	bar       *mpb.Bar               // nil if lines are printed
	doing     atomic.Pointer[string] // the latest step
	began     time.Time
	limit     time.Duration // how long the command may take, counted from began; 0: no limit
	takes     atomic.Int64  // nanoseconds from began to the expected end; 0: not known
}

// Widths in columns. freeColumns stay free for the "^C" that a terminal prints: it would wrap the
// bar, and a wrapped bar cannot be removed.
const (
	barWidth      = 16
	timeLeftWidth = 8 // including the space behind the time
	freeColumns   = 4
)

func (f *sharedFlags) newProgress(stderr io.Writer) *progress {
	if f.quiet || f.noProgress {
		return nil
	}
	p := &progress{stderr: stderr, part: f.part, began: time.Now()}
	columns, isTerminal := terminalWidth(stderr)
	if !isTerminal || columns <= 0 || os.Getenv("TERM") == "dumb" { // a bar needs a width
		return p
	}
	p.container = mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(barWidth))
	p.doing.Store(new(string))
	// Until the total is known, the line shows only the step.
	count := decor.Any(func(s decor.Statistics) string {
		switch {
		case s.Total <= 0:
			return ""
		case p.percent.Load():
			return fmt.Sprintf("%3d %%", 100*s.Current/s.Total)
		}
		return fmt.Sprintf("%d of %d", s.Current, s.Total)
	})
	filler := mpb.BarStyle().Build()
	bar := mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error {
		if s.Total <= 0 {
			return nil
		}
		return filler.Fill(w, s)
	})
	step := decor.Any(func(s decor.Statistics) string {
		doing := *p.doing.Load()
		switch {
		case s.Completed:
			return ""
		case s.Total <= 0:
			return " " + doing
		}
		room := s.AvailableWidth - barWidth - timeLeftWidth - freeColumns
		return fmt.Sprintf("%7s %s", p.timeLeft(), view.Truncate(doing, max(room, 1)))
	})
	p.bar = p.container.MustAdd(0, bar, mpb.PrependDecorators(count), mpb.AppendDecorators(step))
	return p
}

// expect estimates when the command will be done. It assumes that the remaining units of work take
// as long as the units so far.
func (p *progress) expect(done, total int) {
	if done == 0 {
		return
	}
	took := float64(time.Since(p.began)) * float64(total) / float64(done)
	if p.limit > 0 {
		took = min(took, float64(p.limit))
	}
	p.takes.Store(int64(took))
}

// timeLeft says how long the command will still take, or returns "" if that is not known.
func (p *progress) timeLeft() string {
	left := time.Duration(p.takes.Load()) - time.Since(p.began)
	if left < time.Second {
		return ""
	}
	return left.Round(time.Second).String()
}

// within sets the time limit of the command, counted from now. From then on, the bar shows a
// percentage.
func (p *progress) within(limit time.Duration) {
	if p != nil {
		p.limit = time.Since(p.began) + limit
		p.percent.Store(true)
	}
}

// step shows beside the bar what is being done.
func (p *progress) step(what string) {
	if p != nil && p.bar != nil {
		p.doing.Store(new(view.Escape(what)))
	}
}

// note shows what was found, beside the bar or as a line.
func (p *progress) note(what string) {
	p.step(what)
	if p != nil && p.bar == nil {
		writeNotice(p.stderr, what)
	}
}

// say prints a line that stays, above the bar if there is one.
func (p *progress) say(what string) {
	switch {
	case p == nil:
	case p.bar == nil:
		writeNotice(p.stderr, what)
	default:
		columns, _ := terminalWidth(p.stderr)
		o := view.Options{Width: columns}
		fmt.Fprintln(p.container, o.Wrap(view.Escape(what)))
		p.step("")
	}
}

// units makes the bar show how many units of work are done. Until then, the bar shows how many
// parts are finished.
func (p *progress) units(done, total int) {
	if p == nil || p.bar == nil {
		return
	}
	p.showUnits = true
	if p.limit > 0 { // the time may be up before all units are done
		share := time.Since(p.began).Seconds() / p.limit.Seconds()
		done = max(done, min(int(share*float64(total)), total-1))
	}
	p.move(done, total)
}

func (p *progress) move(done, total int) {
	p.full = done >= total
	done = min(done, total)
	p.expect(done, total)
	p.bar.SetTotal(int64(total), false) // false: only stop completes the bar
	p.bar.SetCurrent(int64(done))
}

// finish counts one more finished part of the work, out of total. outcome says in words how that
// part ended.
func (p *progress) finish(total int, outcome string) {
	if p == nil {
		return
	}
	p.done++
	outcome = view.Escape(outcome)
	switch {
	case p.bar != nil:
		if !p.showUnits {
			p.move(p.done, total)
		}
	case p.part != "":
		fmt.Fprintf(p.stderr, "%s %d/%d: %s\n", p.part, p.done, total, outcome)
	default:
		fmt.Fprintf(p.stderr, "%d/%d %s\n", p.done, total, outcome)
	}
}

// stop ends the bar. It leaves a full bar on the screen, and removes any other.
func (p *progress) stop() {
	if p == nil || p.bar == nil {
		return
	}
	if p.full {
		p.bar.SetTotal(-1, true) // -1: the total is what is done; true: the bar is complete
	} else {
		p.bar.Abort(true) // true: remove it from the screen
	}
	p.container.Wait()
}
