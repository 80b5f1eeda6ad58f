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

// A line counts as held back if it comes through a pipe later than to a terminal by at least late.
const late = 200 * time.Millisecond

// blockBuffer compares when lines come to a terminal and through a pipe. A program that ends within
// 2*late passes: its lines cannot be held back for long.
func (p *program) blockBuffer(ctx context.Context, f *finding) error {
	took := p.ref().last().took
	if took < 2*late {
		f.ok("all is written within %s", duration(took))
		return nil
	}
	// A busy machine delays lines, too. But it is not by chance that lines are late twice, each
	// time by more than two starts at a terminal differ.
	var first *outcome
	for range 2 {
		shown, err := f.start(ctx, streams{pipe: syspipe.PTY}, p.limit(), p.bound())
		if err != nil {
			return err
		}
		first = cmp.Or(first, shown)
		piped, err := f.start(ctx, streams{}, p.limit(), p.bound())
		if err != nil {
			return err
		}
		behind := piped.behind(shown)
		usual := max(shown.behind(first), first.behind(shown))
		if len(shown.arrivals) < 4 || 3*len(piped.arrivals) > len(shown.arrivals) ||
			behind < late+usual { // too few pieces, or not gathered, or not late
			f.clear()
			f.ok("what comes to a terminal in %s comes through a pipe in %s",
				results.FormatCount(len(shown.arrivals), "piece"),
				results.FormatCount(len(piped.arrivals), "piece"))
			return nil
		}
		f.slow("lines come up to %s late: it gathers them in a buffer "+
			"where its output is no terminal", duration(behind))
	}
	f.Class = classBuffer
	f.Reproduce = proc.ShellLine(f.o.Command) + " | while read -r l; do date +%T.%N; done"
	return nil
}

// behind returns the largest delay of a byte compared with another start of the program. It counts
// a delay only if the byte is late both after the start of the program and before its end: on a
// busy machine one start is slower than another, and a terminal takes longer than a pipe for the
// same output.
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
