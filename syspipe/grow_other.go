//go:build !linux

package syspipe

// growFrom changes nothing: no system but Linux can change the capacity of an open pipe.
func (e *End) growFrom(now, _ int) (int, error) {
	return now, unsupported("growing a " + e.kind.noun())
}
