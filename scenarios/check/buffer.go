package check

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// late is how much later than to a terminal a line has to come to count as held back.
const late = 200 * time.Millisecond

// blockBuffer compares when lines come to a terminal and through a pipe. Those of a program that is
// soon done come soon, and what it writes just before its end is not held back for long, however
// much its start took: so it need not be started for that again.
func (p *program) blockBuffer(ctx context.Context, f *finding) error {
	if took := p.ref.last().took; took < 2*late {
		f.ok("all is written within %s", duration(took))
		return nil
	}
	if o := p.shown; o != nil && len(o.arrivals) > 0 && o.took-o.arrivals[0].at < late {
		f.ok("all is written within the last %s", duration(o.took-o.arrivals[0].at))
		return nil
	}
	// A busy machine holds lines back, too. Twice, and by more than two starts at a terminal
	// differ, is no chance.
	for range 2 {
		held, err := p.holdsBack(ctx, f)
		if err != nil || !held {
			return err
		}
	}
	return nil
}

// holdsBack compares a start at a terminal with one at a pipe, and judges it. It reports whether
// lines were held back.
func (p *program) holdsBack(ctx context.Context, f *finding) (bool, error) {
	shown, err := f.start(ctx, manner{pipe: syspipe.PTY}, p.limit(), p.bound())
	if err != nil {
		return false, err
	}
	piped, err := f.start(ctx, manner{}, p.limit(), p.bound())
	if err != nil {
		return false, err
	}
	f.evidence, p.shown = p.evidence(piped), cmp.Or(p.shown, shown)
	behind, usual := piped.behind(shown), max(shown.behind(p.shown), p.shown.behind(shown))
	if len(shown.arrivals) < 4 || 3*len(piped.arrivals) > len(shown.arrivals) ||
		behind < late+usual {
		f.clear()
		f.ok("what comes to a terminal in %s comes through a pipe in %s",
			results.FormatCount(len(shown.arrivals), "piece"),
			results.FormatCount(len(piped.arrivals), "piece"))
		return false, nil
	}
	f.Class = "buffer"
	f.Reproduce = strings.Replace(reproduce()[f.name], "CMD", proc.ShellLine(f.o.Command), 1)
	buffer := size(piped.total) + " or more"
	// blocks come, and the last may be smaller
	if first := piped.firstBurst(); first < piped.total {
		buffer = size(first)
	}
	f.slow(
		"lines come up to %s late: it gathers them in a buffer of %s "+
			"where its output is no terminal",
		duration(behind),
		buffer,
	)
	return true, nil
}

// together is how close to each other pieces come that were written at once: a pipe takes a large
// write in pieces of its capacity.
const together = 10 * time.Millisecond

// firstBurst returns how many bytes came before the first pause.
func (o *outcome) firstBurst() int64 {
	for i, a := range o.arrivals[1:] {
		if a.at-o.arrivals[i].at > together {
			return o.arrivals[i].bytes
		}
	}
	return o.total
}

// behind returns the most by which bytes came later than of another start, as seen both from the
// start of the program and from its end: on a busy machine one start is slower than another, and a
// terminal takes longer than a pipe for the same output.
func (o *outcome) behind(other *outcome) (most time.Duration) {
	for _, a := range other.arrivals {
		i := slices.IndexFunc(o.arrivals, func(b arrival) bool { return b.bytes >= a.bytes })
		if i >= 0 {
			at := o.arrivals[i].at
			most = max(most, min(at-a.at, (other.took-a.at)-(o.took-at)))
		}
	}
	return most
}

func duration(d time.Duration) string { return results.FormatDuration(float64(d)) }
