package syspipe

import "fmt"

// Capacity returns how many bytes the pipe holds before a writer has to wait. With writes of some
// sizes, the writer has to wait sooner. Where the system does not state the capacity, Capacity
// measures a new pipe of the same kind.
func (e *End) Capacity() (n int, err error) {
	err = e.briefly("read capacity of", func() (err error) {
		n, err = e.capacity()
		return err
	})
	return max(n, 0), err
}

// SetCapacity asks for a capacity of n bytes, which the system may round, and returns the new
// capacity. Here 0 asks for the smallest capacity, not for the default as in [Options]. If the
// system refuses, the error is a [*CapacityError]. On Linux, a socket pair gets about twice n, and
// an n above net.core.wmem_max counts as net.core.wmem_max.
func (e *End) SetCapacity(n int) (now int, err error) {
	if n < 0 {
		return 0, e.failed("set capacity of", fmt.Errorf("%d bytes: a capacity is not negative", n))
	}
	err = e.briefly("set capacity of", func() error {
		err := e.setCapacity(n)
		if err != nil {
			return err
		}
		now, err = e.capacity()
		return err
	})
	return now, err
}

// Buffered returns how many bytes are in the pipe now. If the system does not tell, the error wraps
// [errors.ErrUnsupported]. Some systems tell this only to the reading end.
func (e *End) Buffered() (n int, err error) {
	err = e.briefly("read fill of", func() (err error) {
		n, err = e.buffered()
		return err
	})
	return max(n, 0), err
}
