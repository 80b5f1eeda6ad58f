package syspipe

// Grow makes the pipe hold n bytes, or as many as the system allows, and returns how many it holds
// then. It never makes a pipe smaller. If the pipe then holds less than n, the error says why. It
// is a [*CapacityError] if a limit of the system prevents more: that of one pipe, or that of all
// pipes of this user. It wraps [errors.ErrUnsupported] if the capacity cannot be changed: that of a
// socket pair, or on a system other than Linux. A caller that wants speed only can ignore it.
//
// A larger pipe spares its two ends a sleep and a wake-up per 64 KiB when the ends run on two CPUs.
// On one CPU it costs nothing (AMD Zen 5, 1 MiB), or a quarter of the speed where it no longer fits
// into the core's cache (Intel Sapphire Rapids). Either end may ask for it. A writer that is faster
// than its reader gets further ahead in a larger pipe before it has to wait.
func (e *End) Grow(n int) (now int, err error) {
	err = e.briefly("grow", func() (err error) {
		now, err = e.capacity()
		if err == nil && now < n {
			now, err = e.growFrom(now, n)
		}
		return err
	})
	return now, err
}
