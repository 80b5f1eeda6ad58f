//go:build darwin || windows

package syspipe

// ReadUnguarded is Read: macOS and Windows keep their libraries stable, not their system calls, so
// there is no shorter way.
func (e *End) ReadUnguarded(p []byte) (int, error) { return e.Read(p) }

// WriteUnguarded is Write.
func (e *End) WriteUnguarded(p []byte) (int, error) { return e.Write(p) }
