//go:build !linux

package inspect

import (
	"errors"
	"fmt"
	"runtime"
)

// Process returns an error that wraps [errors.ErrUnsupported]: only Linux is supported.
func Process(pid int) (*Report, error) {
	return nil, fmt.Errorf("inspect process %d: %w on %s", pid, errors.ErrUnsupported, runtime.GOOS)
}
