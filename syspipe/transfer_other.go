//go:build !linux

package syspipe

func (e *End) vmsplice([]byte) (int, error) { return 0, Vmsplice.Supported() }
func (e *End) discard(int) (int, error)     { return 0, Splice.Supported() }
