package drive

import "time"

// A cpuTime is the processor time that a process has used; not known where the system does not tell.
type cpuTime struct {
	spent time.Duration
	known bool
}

// since is the time used after an earlier reading.
func (c cpuTime) since(earlier cpuTime) *int64 {
	if !c.known || !earlier.known {
		return nil
	}
	return new(int64(c.spent - earlier.spent))
}

// cpu is what the server has used: while it runs from the system, afterwards from its exit.
func (c *child) cpu() cpuTime {
	if c.alive() {
		return runningCPU(c.cmd.Process.Pid)
	}
	state := c.cmd.ProcessState
	return cpuTime{state.UserTime() + state.SystemTime(), true}
}

// peakMemory is the largest resident memory of the server so far, in bytes; nil where it is not known. A process that has ended takes the
// knowledge with it, so what was last seen counts.
func (c *child) peakMemory() *int64 {
	n, known := int64(0), false
	if c.alive() {
		n, known = runningPeak(c.cmd.Process.Pid)
	} else {
		n, known = peakOf(c.cmd.ProcessState)
	}
	if known && n > c.peak.Load() {
		c.peak.Store(n)
	}
	if n = c.peak.Load(); n == 0 {
		return nil
	}
	return &n
}
