package main

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/pipebench/pipebench/results/view"
)

// A progress tells the person who waits how far a command is: by a bar if stderr is a terminal,
// else by a plain line for each part that is finished, since a log keeps neither bars nor the codes
// that draw them. A nil progress prints nothing.
type progress struct {
	stderr    io.Writer
	part      string      // what one part is called, "" for no name
	done      int         // parts that are finished
	measured  bool        // the bar shows units, not parts
	percent   atomic.Bool // of a unit that nobody counts in
	full      bool        // the bar has reached its total
	container *mpb.Progress
	bar       *mpb.Bar               // nil if lines are printed
	now       atomic.Pointer[string] // the latest step
	began     time.Time
	limit     time.Duration // from began on that the command may take; 0: no limit
	takes     atomic.Int64  // nanoseconds from began to the expected end; 0: not known
}

// Widths of a line with a bar. Some columns stay free, since a terminal that shows "^C" behind a
// full line breaks it, and what stood there could not be removed.
const (
	barWidth    = 32
	narrowBar   = 16 // in a terminal of less than wideEnough columns
	wideEnough  = 100
	leftWidth   = 8 // of the time that is left, and a space
	freeColumns = 4
)

// progress returns what the flags ask for.
func (f *sharedFlags) progress(stderr io.Writer) *progress {
	if f.quiet || f.noProgress {
		return nil
	}
	p := &progress{stderr: stderr, part: f.part, began: time.Now()}
	file, ok := stderr.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return p
	}
	width := barWidth
	if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns < wideEnough {
		width = narrowBar
	}
	p.container = mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(width))
	p.now.Store(new(string))
	filler := mpb.BarStyle().Build()
	// Until the number of parts is known, there is nothing to fill.
	bar := mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error {
		if s.Total <= 0 {
			return nil
		}
		return filler.Fill(w, s)
	})
	parts := decor.Any(func(s decor.Statistics) string {
		switch {
		case s.Total <= 0:
			return ""
		case p.percent.Load():
			return fmt.Sprintf("%3d %%", 100*s.Current/s.Total)
		}
		return fmt.Sprintf("%d of %d", s.Current, s.Total)
	})
	step := decor.Any(func(s decor.Statistics) string {
		now := *p.now.Load()
		switch {
		case s.Completed:
			return ""
		case s.Total <= 0:
			return " " + now
		}
		room := s.AvailableWidth - width - leftWidth - freeColumns
		return fmt.Sprintf("%7s %s", p.left(), view.Truncate(now, max(room, 1)))
	})
	p.bar = p.container.MustAdd(0, bar, mpb.PrependDecorators(parts), mpb.AppendDecorators(step))
	return p
}

// expect works out when the command will be done if each unit takes as long as those so far, but
// not after its limit.
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

// left says how long the command will still take, "" if nobody knows: before the first unit is
// finished, or if one takes longer than was expected. In between it counts down.
func (p *progress) left() string {
	left := time.Duration(p.takes.Load()) - time.Since(p.began)
	if left < time.Second {
		return ""
	}
	return left.Round(time.Second).String()
}

// within says how long the command may take from now on. Its units are shares of that time.
func (p *progress) within(limit time.Duration) {
	if p != nil {
		p.limit = time.Since(p.began) + limit
		p.percent.Store(true)
	}
}

// step shows beside the bar what is being done. It escapes the text, because names or output of
// other programs may be part of it.
func (p *progress) step(what string) {
	if p != nil && p.bar != nil {
		p.now.Store(new(view.Escape(what)))
	}
}

// note shows something that was found: beside the bar, or as a line if there is no bar.
func (p *progress) note(what string) {
	p.step(what)
	if p != nil && p.bar == nil {
		writeNotice(p.stderr, what)
	}
}

// units makes the bar show a share of units that are finer than parts, such as the samples of a
// cell.
func (p *progress) units(done, total int) {
	if p != nil && p.bar != nil {
		p.measured = true
		if p.limit > 0 { // it may end by its time, before all units are done
			over := time.Since(p.began).Seconds() / p.limit.Seconds()
			done = max(done, min(int(over*float64(total)), total-1))
		}
		p.move(done, total)
	}
}

func (p *progress) move(done, total int) {
	p.expect(min(done, total), total)
	p.bar.SetTotal(int64(total), false)
	p.bar.SetCurrent(int64(min(done, total)))
	p.full = done >= total
}

// finish counts one more finished part; total is the number of all parts. what says how this part
// turned out.
func (p *progress) finish(total int, what string) {
	if p == nil {
		return
	}
	p.done++
	what = view.Escape(what)
	switch {
	case p.bar != nil && !p.measured:
		p.move(p.done, total)
	case p.bar == nil && p.part != "":
		fmt.Fprintf(p.stderr, "%s %d/%d: %s\n", p.part, p.done, total, what)
	case p.bar == nil:
		fmt.Fprintf(p.stderr, "%d/%d %s\n", p.done, total, what)
	}
}

// stop leaves a full bar on the screen. It removes a bar that is short of its total, because the
// program would wait for its end for ever.
func (p *progress) stop() {
	if p == nil || p.bar == nil {
		return
	}
	if p.full {
		p.bar.SetTotal(-1, true)
	} else {
		p.bar.Abort(true)
	}
	p.container.Wait()
}
