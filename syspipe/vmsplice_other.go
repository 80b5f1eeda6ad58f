//go:build !linux

package syspipe

// lendsPages says whether the system has other transfers than [Copy].
const lendsPages = false

func (e *End) vmsplice([]byte) (int, error) { return 0, Vmsplice.Supported() }
