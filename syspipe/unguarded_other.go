//go:build darwin || windows

package syspipe

// ReadUnguarded is the same as Read on this system. On Linux and FreeBSD it makes the system call
// itself, without Read's guard against a concurrent Close. macOS and Windows have no stable system
// calls, only stable libraries.
func (e *End) ReadUnguarded(p []byte) (int, error) { return e.Read(p) }

// WriteUnguarded is the same as Write, for the reason that [End.ReadUnguarded] tells.
func (e *End) WriteUnguarded(p []byte) (int, error) { return e.Write(p) }
