//go:build darwin || windows

package syspipe

// ReadUnguarded is the same as Read on this system, which has no stable system calls.
func (e *End) ReadUnguarded(p []byte) (int, error) { return e.Read(p) }

// WriteUnguarded is the same as Write on this system.
func (e *End) WriteUnguarded(p []byte) (int, error) { return e.Write(p) }
