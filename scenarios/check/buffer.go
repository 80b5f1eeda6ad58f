package check

import (
	"cmp"
	"context"
	"slices"
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
	took := p.ref.last().took
	if took < 2*late {
		f.ok("all is written within %s", duration(took))
		return nil
	}
	if p.shown != nil && len(p.shown.arrivals) > 0 {
		writes := p.shown.took - p.shown.arrivals[0].at
		if writes < late {
			f.ok("all is written within the last %s", duration(writes))
			return nil
		}
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
	shown, err := f.start(ctx, streams{pipe: syspipe.PTY}, p.limit(), p.bound())
	if err != nil {
		return false, err
	}
	piped, err := f.start(ctx, streams{}, p.limit(), p.bound())
	if err != nil {
		return false, err
	}
	f.evidence = p.evidence(piped)
	p.shown = cmp.Or(p.shown, shown)
	behind := piped.behind(shown)
	usual := max(shown.behind(p.shown), p.shown.behind(shown))
	if len(shown.arrivals) < 4 || 3*len(piped.arrivals) > len(shown.arrivals) ||
		behind < late+usual {
		f.clear()
		f.ok("what comes to a terminal in %s comes through a pipe in %s",
			results.FormatCount(len(shown.arrivals), "piece"),
			results.FormatCount(len(piped.arrivals), "piece"))
		return false, nil
	}
	f.Class = classBuffer
	f.Reproduce = proc.ShellLine(f.o.Command) + " | while read -r l; do date +%T.%N; done"
	block := size(piped.total) + " or more"
	if first := piped.firstBurst(); first < piped.total {
		block = size(first) // the last one may be smaller
	}
	f.slow("lines come up to %s late: it gathers them in a buffer of %s "+
		"where its output is no terminal", duration(behind), block)
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
