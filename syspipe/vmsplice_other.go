//go:build !linux

package syspipe

// LendsPages says whether the system has [End.Vmsplice].
const LendsPages = false

func (e *End) vmsplice([]byte) (int, error) { return 0, unsupported("vmsplice") }
