package main

import (
	"fmt"
	"io"
	"os"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// A progress tells the person who waits how far a command is: by a bar where stderr is a terminal,
// else by a plain line for each part that is finished, since a log keeps neither bars nor the codes
// that draw them. A nil progress prints nothing.
type progress struct {
	stderr    io.Writer
	part      string // what one part is called, "" for no name
	done      int    // parts
	measured  bool   // the bar shows units, not parts
	full      bool   // the bar has reached its total
	container *mpb.Progress
	bar       *mpb.Bar    // nil where lines are printed
	now       chan string // holds the latest step
}

// stepWidth is how many characters of a step are shown beside the bar.
const stepWidth = 48

// progress returns what the flags ask for.
func (f *sharedFlags) progress(stderr io.Writer) *progress {
	if f.quiet || f.noProgress {
		return nil
	}
	p := &progress{stderr: stderr, part: f.part}
	if file, ok := stderr.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		return p
	}
	p.container = mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(32))
	p.now = make(chan string, 1)
	last := ""
	p.bar = p.container.AddBar(0, // the total is known from the first part on
		mpb.PrependDecorators(decor.CountersNoUnit("%d of %d")),
		mpb.AppendDecorators(
			decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO, decor.WC{W: 6, C: decor.DSyncSpaceR}), ""),
			decor.Any(func(decor.Statistics) string {
				select {
				case last = <-p.now:
				default:
				}
				return last
			})))
	return p
}

// step shows beside the bar what is being done.
func (p *progress) step(what string) {
	if p == nil || p.bar == nil {
		return
	}
	if runes := []rune(what); len(runes) > stepWidth {
		what = string(runes[:stepWidth])
	}
	select {
	case <-p.now: // nobody has drawn it
	default:
	}
	p.now <- what
}

// note shows beside the bar, or else prints as a line, what was found meanwhile.
func (p *progress) note(what string) {
	p.step(what)
	if p != nil && p.bar == nil {
		fmt.Fprintln(p.stderr, what)
	}
}

// units has the bar show units that are finer than parts, such as the samples of a cell.
func (p *progress) units(done, of int) {
	if p != nil && p.bar != nil {
		p.measured = true
		p.move(done, of)
	}
}

func (p *progress) move(done, of int) {
	p.bar.SetTotal(int64(of), false)
	p.bar.SetCurrent(int64(min(done, of)))
	p.full = done >= of
}

// finish counts a part of so many, and says how it turned out.
func (p *progress) finish(of int, what string) {
	if p == nil {
		return
	}
	p.done++
	switch {
	case p.bar != nil && !p.measured:
		p.move(p.done, of)
	case p.bar == nil && p.part != "":
		fmt.Fprintf(p.stderr, "%s %d/%d: %s\n", p.part, p.done, of, what)
	case p.bar == nil:
		fmt.Fprintf(p.stderr, "%d/%d %s\n", p.done, of, what)
	}
}

// stop leaves a finished bar on the screen and takes another away: one that is short of its total
// would be waited for for ever.
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
