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

// blockBuffer compares the times at which lines come to a terminal and through a pipe. Many
// programs gather lines in a buffer if their output is not a terminal. A program that ends within
// 2*late passes without a try, since it cannot hold lines back for long.
func (p *program) blockBuffer(ctx context.Context, f *finding) error {
	took := p.ref().last().took
	if took < 2*late {
		f.ok("all is written within %s", duration(took))
		return nil
	}
	// A busy machine delays lines, too. So the verdict is "slow" only if the lines are late in two
	// tries. Their delay must exceed the delay between two runs at a terminal by the constant late.
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

// maxDelay compares o with another run of the program, and returns the largest delay of a byte in
// o. A byte is late only if it came longer after the program's start and also closer to its end.
// One of these alone proves nothing on a busy machine.
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
