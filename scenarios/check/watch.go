package check

import (
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// watch sets o.spins if the program burns CPU time while it has to wait: for a reader of the pipe,
// or for input if pipe is nil. The program is watched for the time d, or longer in doubt.
func (o *outcome) watch(pipe *syspipe.End, d time.Duration) {
	o.spins = o.looksBusy(pipe, d)
	if !o.spins && o.process.Runnable() { // on a busy machine the program may begin late
		o.spins = o.looksBusy(pipe, d)
	}
	o.spins = o.spins && o.keepsBusy(pipe, d)
	if pipe != nil {
		o.queued, _ = pipe.Buffered()
	}
	o.peak, _ = o.process.PeakMemory()
}

const (
	tick      = 25 * time.Millisecond  // the time between two looks at a process
	leastSpun = 300 * time.Millisecond // CPU time that a program must use to count as spinning

	// in multiples of the time d for which a program is watched:
	mostSpun = 6  // this much CPU time counts as spinning, even if the usual work takes more
	mostTime = 20 // how long keepsBusy waits for that much CPU time on a busy machine
)

// keepsBusy watches until the program has used more CPU time than all of its work should take. It
// reports whether the program looked busy until then.
func (o *outcome) keepsBusy(pipe *syspipe.End, d time.Duration) bool {
	before, known := o.process.CPU()
	now := before
	enough := max(before+leastSpun, o.work+spinningAbove(o.work)+tick)
	enough = min(enough, before+mostSpun*d)
	end := time.Now().Add(mostTime * d)
	for known && now < enough && time.Now().Before(end) {
		if !o.looksBusy(pipe, 2*d) {
			return false
		}
		now, _ = o.process.CPU()
	}
	return now-before > tick
}

// spinningAbove returns the CPU time that a program may use beyond its work before it counts as
// spinning.
func spinningAbove(work time.Duration) time.Duration { return max(100*time.Millisecond, work) }

// leastLooks is how many looks at a program are needed to call it busy.
const leastLooks = 6

// looksBusy reports whether the program nearly always ran, or waited for a CPU, during the time d.
// If pipe is not nil, only those moments count in which the program has to wait for the pipe's
// reader.
func (o *outcome) looksBusy(pipe *syspipe.End, d time.Duration) bool {
	looks := 0
	running := 0
	before := -1 // bytes in the pipe when we looked last
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
	return looks >= leastLooks && running*10 >= looks*9
}

// workTime is how long stillRuns watches the program. In a shorter time, a program that polls every
// 10 ms may look busy on a busy machine.
const workTime = time.Second / 2

// stillRuns reports whether the program is still at work.
func (o *outcome) stillRuns() bool { return o.looksBusy(nil, workTime) && !o.process.Ended(0) }
