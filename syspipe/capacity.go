package syspipe

// Capacity returns how many bytes the pipe holds before a writer has to wait. Writes of some sizes
// fill it with fewer bytes. Where the system does not state the capacity, Capacity measures a new
// pipe of the same kind.
func (e *End) Capacity() (n int, err error) {
	err = e.briefly("read capacity of", func() (err error) {
		n, err = e.capacity()
		return err
	})
	return max(n, 0), err
}

// SetCapacity asks for a capacity of n bytes, which the system may round, and returns the new
// capacity. A refusal is a [*CapacityError].
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

// Buffered returns how many bytes are in the pipe now. If the system does not tell, as some do not
// at the writing end, the error wraps [errors.ErrUnsupported].
func (e *End) Buffered() (n int, err error) {
	err = e.briefly("read fill of", func() (err error) {
		n, err = e.buffered()
		return err
	})
	return max(n, 0), err
}
