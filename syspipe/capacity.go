package syspipe

// Capacity returns the bytes that the pipe holds before a writer waits. This is what the kernel
// states (pipes of Linux), what was asked for (Windows), or how much a new pipe of the same kind
// accepts (everything else). Writes of some sizes fill a pipe with fewer bytes.
func (e *End) Capacity() (n int, err error) {
	err = e.briefly("read capacity of", func() (err error) {
		n, err = e.capacity()
		return err
	})
	return max(n, 0), err
}

// SetCapacity asks for n bytes and returns the new capacity. A refusal is a [*CapacityError].
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

// Buffered returns the bytes that are in the pipe now. Some systems tell this only for the reading
// end; for the writing end the error then wraps [errors.ErrUnsupported].
func (e *End) Buffered() (n int, err error) {
	err = e.briefly("read fill of", func() (err error) {
		n, err = e.buffered()
		return err
	})
	return max(n, 0), err
}
