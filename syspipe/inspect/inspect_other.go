//go:build !linux

package inspect

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// Process returns an error that wraps [errors.ErrUnsupported]: only Linux is supported.
func Process(pid int) (*Report, error) {
	const says = "inspect process %d: %w on %s: it reads Linux's /proc; " +
		"there are lsof, or Process Explorer on Windows"
	return nil, fmt.Errorf(says, pid, errors.ErrUnsupported, runtime.GOOS)
}

// Over returns the error of [Process].
func Over(_ context.Context, pid int, _ time.Duration) (*Report, error) { return Process(pid) }
