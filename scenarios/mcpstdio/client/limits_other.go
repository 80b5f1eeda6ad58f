//go:build !linux

package client

import (
	"errors"
	"fmt"
	"runtime"
)

func (l Limits) supported() error {
	if l == (Limits{}) {
		return nil
	}
	return fmt.Errorf("limits of a child: %w on %s", errors.ErrUnsupported, runtime.GOOS)
}

// apply sets the limits of a process: there are none.
func (l Limits) apply(int) error { return l.supported() }
