//go:build darwin || windows

package syspipe

// ReadUnguarded is Read. On Linux and FreeBSD it makes the system call itself, without Read's guard
// against a concurrent Close, to save function calls in the loops of benchmarks. macOS and Windows
// promise stable libraries, but no stable system calls.
func (e *End) ReadUnguarded(p []byte) (int, error) { return e.Read(p) }

// WriteUnguarded is Write, for the same reason.
func (e *End) WriteUnguarded(p []byte) (int, error) { return e.Write(p) }
