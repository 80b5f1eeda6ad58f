//go:build !linux

package client

import (
	"errors"
	"fmt"
	"runtime"
)

// apply sets the limits of a process: there are none here.
func (l Limits) apply(int) error {
	if l == (Limits{}) {
		return nil
	}
	return fmt.Errorf("limits of a child: %w on %s", errors.ErrUnsupported, runtime.GOOS)
}
