package check

import (
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// watch looks at a program that has to wait because nobody reads its output, or because no input
// comes. A program that runs at nearly every look, though it moves no bytes, spins. If a program is
// suspected of that, watch looks for longer: until it has used so much CPU time that it must spin,
// or more than 6 d. On a busy machine that takes a while.
func (o *outcome) watch(pipe *syspipe.End, d time.Duration) {
	o.spins = o.looksBusy(pipe, d)
	if !o.spins && o.process.Runnable() { // on a busy machine the program may begin late
		o.spins = o.looksBusy(pipe, d)
	}
	if o.spins {
		before, known := o.process.CPU()
		now := before
		enough := max(before+spun, o.work+tooMuch(o.work)+tick)
		enough = min(enough, before+6*d)
		end := time.Now().Add(slowest * d)
		for o.spins && known && now < enough && time.Now().Before(end) {
			o.spins = o.looksBusy(pipe, 2*d)
			now, _ = o.process.CPU()
		}
		o.spins = o.spins && now-before > tick
	}
	if pipe != nil {
		o.queued, _ = pipe.Buffered()
	}
	o.peak, _ = o.process.PeakMemory()
}

// tooMuch returns more than which CPU time a program spins that has to wait, beyond the time that
// its work takes.
func tooMuch(work time.Duration) time.Duration { return max(100*time.Millisecond, work) }

// fewLooks is how many looks it takes at least to call a program busy.
const fewLooks = 6

// looksBusy looks at the program d/tick times; on a busy machine that takes longer than d. If there
// is a pipe, a look counts only if the pipe holds bytes, and as many as at the look before: then
// the program has to wait. looksBusy reports whether the program ran, or waited for a CPU, at nine
// of ten looks that count.
func (o *outcome) looksBusy(pipe *syspipe.End, d time.Duration) bool {
	looks := 0
	running := 0
	before := -1
	for n := d / tick; n > 0 && !o.process.Ended(tick); n-- {
		if pipe != nil {
			o.queued, _ = pipe.Buffered()
			waits := o.queued > 0 && o.queued == before
			if o.queued > before {
				o.grew = time.Now()
			}
			before = o.queued
			if !waits {
				continue
			}
		}
		looks++
		if o.process.Runnable() {
			running++
		}
	}
	return looks >= fewLooks && running*10 >= looks*9
}

// workLooks is how many times stillRuns looks at a program whose time is up.
const workLooks = 8

// stillRuns reports whether the program is still at work: at no more than one of the looks it
// neither ran nor waited for a CPU. A program that only polls is found at rest more often.
func (o *outcome) stillRuns() bool {
	running := 0
	for range workLooks {
		if o.process.Ended(tick) {
			return false
		}
		if o.process.Runnable() {
			running++
		}
	}
	return running >= workLooks-1
}

// findLeft names the processes that the program left behind, and ends them, so that the next start
// is not blamed for them.
func (o *outcome) findLeft(mark string) {
	for end := time.Now().Add(holdOn); time.Now().Before(end); time.Sleep(tick) {
		pids, unclear, _ := proc.Marked(mark)
		o.left = nil
		for _, pid := range pids {
			if name := proc.Name(pid); name != "" { // else it has ended
				o.left = append(o.left, name)
			}
		}
		o.holding = nil
		for _, h := range holdersOf(pids, o.file.Name()) {
			o.holding = append(o.holding, h.name)
		}
		if len(o.left) == 0 && !unclear {
			return
		}
	}
	if len(o.left) > 0 {
		proc.EndMarked(mark, 0)
	}
}

// mostQuoted is how many bytes of a line are quoted in a sentence at most.
const mostQuoted = 120

// lastLine returns the last line of a text, shortened to what fits into a sentence.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if len(last) > mostQuoted {
		last = strings.ToValidUTF8(last[:mostQuoted], "") + "…"
	}
	return last
}

// size writes a number of bytes for a sentence.
func size(n int64) string { return results.FormatGrouped(n) + " B" }
