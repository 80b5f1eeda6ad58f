package syspipe

// Grow makes the pipe hold n bytes, or as many as the system allows, and returns how many bytes it
// holds then. It never makes a pipe smaller. Either end may call Grow.
//
// If the pipe holds less than n bytes in the end, the error is a [*CapacityError]. If the capacity
// cannot be changed, as for a socket pair or outside Linux, the error wraps
// [errors.ErrUnsupported]. A caller that only wants more speed can ignore both errors.
//
// If writer and reader share one CPU, a pipe that does not fit into the cache of that CPU can cost
// a quarter of the speed.
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
