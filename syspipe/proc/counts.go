package proc

// Counts are what a process and the children that it waited for did until they ended.
type Counts struct {
	Reads, Writes           int64 // system calls that read and write
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
