package syspipe

// Grow makes the pipe hold n bytes, or as many as the system allows, and returns how many it holds
// then. It never makes a pipe smaller. If that is less than n, the error says why: a
// [*CapacityError] where a limit of the system stands in the way (one pipe's, or that of all pipes
// of this user), an error that wraps [errors.ErrUnsupported] where the capacity cannot be changed,
// as of a socket pair and on any system but Linux. Whoever only wants speed ignores the error.
//
// A larger pipe spares its two ends a sleep and a wake-up per 64 KiB when they run on two CPUs, and
// costs nothing on one. Either end may ask for it. A writer that the reader cannot keep up with is
// held back later.
func (e *End) Grow(n int) (int, error) {
	now := 0
	err := e.briefly("grow", func() (err error) {
		now, err = e.grow(n)
		return err
	})
	return now, err
}
