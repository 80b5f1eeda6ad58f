package proc

// Counts tell what a process did in its life, including the children for which it waited.
type Counts struct {
	Reads, Writes           int64 // how many system calls read and wrote
	ReadBytes, WrittenBytes int64 // bytes that these calls moved
}

// Counts returns the counts of a process that has ended. It returns false before that, and on
// systems other than Linux.
func (p *Process) Counts() (Counts, bool) {
	if !p.Ended(0) {
		return Counts{}, false
	}
	return p.counts, p.counted
}
