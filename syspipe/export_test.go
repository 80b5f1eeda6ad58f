package syspipe

// Busy reports whether a call on the end is under way.
func (e *End) Busy() bool { return e.busy() }
