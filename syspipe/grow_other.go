//go:build !linux

package syspipe

import "os"

// grow changes nothing: no other system lets a program choose the capacity of an open pipe.
func (e *End) grow(n int) (int, error) {
	now, err := e.capacity()
	if err == nil && now < n {
		err = unsupported("growing a " + e.kind.noun())
	}
	return now, err
}

func growFile(f *os.File, _ uintptr, n int) (int, error) {
	s, err := Describe(f)
	if err == nil && s.Capacity < n {
		err = unsupported("growing " + s.Kind)
	}
	return s.Capacity, err
}
