//go:build !linux

package syspipe

// growFrom changes nothing: no system but Linux can change the capacity of an open pipe.
func (e *End) growFrom(current, _ int) (int, error) {
	return current, unsupported("growing a " + e.kind.noun())
}
