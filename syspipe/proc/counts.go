package proc

// Counts tell what a process did from its start to its end. This includes what those children did
// for which the process waited.
type Counts struct {
	Reads, Writes           int64 // how many system calls read and wrote
	ReadBytes, WrittenBytes int64 // bytes that these calls moved
	Faults                  int64 // page faults
	Forced                  int64 // involuntary context switches: the kernel took the CPU away
}

// Counts returns the counts of a process that has ended. It returns false if the process still
// runs, and on systems other than Linux, which do not tell.
func (p *Process) Counts() (Counts, bool) {
	if !p.Ended(0) {
		return Counts{}, false
	}
	return p.counts, p.counted
}
