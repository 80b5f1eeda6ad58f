package syspipe

// Capacity returns how many bytes the pipe holds before a writer has to wait. Writes of some sizes
// fill a pipe with fewer bytes.
//
// For a pipe or FIFO on Linux, the kernel states the capacity. On Windows, it is what was asked
// for. In all other cases, Capacity measures how many bytes a new pipe of the same kind accepts.
func (e *End) Capacity() (n int, err error) {
	err = e.briefly("read capacity of", func() (err error) {
		n, err = e.capacity()
		return err
	})
	return max(n, 0), err
}

// SetCapacity asks for a capacity of n bytes and returns the new capacity. The system may round n.
// If the system refuses, the error is a [*CapacityError].
func (e *End) SetCapacity(n int) (now int, err error) {
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

// Buffered returns how many bytes are in the pipe now. Some systems tell this only at the reading
// end. There, the error at the writing end wraps [errors.ErrUnsupported].
func (e *End) Buffered() (n int, err error) {
	err = e.briefly("read fill of", func() (err error) {
		n, err = e.buffered()
		return err
	})
	return max(n, 0), err
}
