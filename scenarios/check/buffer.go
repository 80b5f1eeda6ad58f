package check

import (
	"context"
	"slices"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A line counts as held back if it comes through a pipe at least this much later than to a
// terminal.
const late = 200 * time.Millisecond

// blockBuffer judges whether the program holds lines back in a buffer if its output is no terminal.
func (p *program) blockBuffer(ctx context.Context, f *finding) error {
	took := p.ref().last().took
	if took < 2*late { // too short to hold lines back for long
		f.ok("all is written within %s", duration(took))
		return nil
	}
	// A busy machine delays lines, too, so the lines must come late in both of two tries.
	var first *outcome // the first start at a terminal
	for range 2 {
		shown, err := f.start(ctx, streams{pipe: syspipe.PTY}, p.limit(), p.bound())
		if err != nil {
			return err
		}
		if first == nil {
			first = shown
		}
		piped, err := f.start(ctx, streams{}, p.limit(), p.bound())
		if err != nil {
			return err
		}
		behind := piped.maxDelay(shown)
		usual := max(shown.maxDelay(first), first.maxDelay(shown))
		fewPieces := len(shown.arrivals) < 4
		gathers := 3*len(piped.arrivals) <= len(shown.arrivals)
		if fewPieces || !gathers || behind < late+usual {
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
	f.Reproduce = proc.ShellLine(f.options.Command) + " | while read -r l; do date +%T.%N; done"
	return nil
}

// maxDelay returns the longest time by which a byte came later in the run o than in the other run.
// A delay that comes only from a slow start of o does not count.
func (o *outcome) maxDelay(other *outcome) (most time.Duration) {
	for _, a := range other.arrivals {
		i := slices.IndexFunc(o.arrivals, func(b arrival) bool { return b.bytes >= a.bytes })
		if i >= 0 {
			at := o.arrivals[i].at
			sinceStart := at - a.at
			closerToEnd := (other.took - a.at) - (o.took - at)
			most = max(most, min(sinceStart, closerToEnd))
		}
	}
	return most
}
