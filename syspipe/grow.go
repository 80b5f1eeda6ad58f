package syspipe

// Grow makes the pipe hold n bytes, or as many as the system allows, and returns how many bytes it
// holds then. It never makes a pipe smaller. Either end may call Grow. If the pipe holds less than
// n bytes in the end, the error says why:
//   - The error is a [*CapacityError] if the system has a limit, for one pipe or for all pipes of
//     this user together.
//   - The error wraps [errors.ErrUnsupported] if the capacity cannot be changed. This is so for a
//     socket pair, and for every pipe on a system other than Linux.
//
// A caller that only wants more speed can ignore the error.
//
// In a larger pipe, a fast writer gets further ahead of its reader before it has to wait. If the
// two ends run on two CPUs, this spares them a sleep and a wake-up per 64 KiB.
//
// If the two ends run on one CPU, a pipe of 1 MiB costs nothing if it fits into the core's cache
// (AMD Zen 5). If it does not fit, it costs a quarter of the speed (Intel Sapphire Rapids).
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
