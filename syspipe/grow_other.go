//go:build !linux

package syspipe

// grow changes nothing: no other system lets a program choose the capacity of an open pipe.
func (e *End) grow(n int) (int, error) {
	now, err := e.capacity()
	if err == nil && now < n {
		err = unsupported("growing a " + e.kind.noun())
	}
	return now, err
}
