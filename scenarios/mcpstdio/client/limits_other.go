//go:build !linux

package client

import (
	"errors"
	"fmt"
	"runtime"
)

// supported reports an error for limits that are not zero: there are none here.
func (l Limits) supported() error {
	if l == (Limits{}) {
		return nil
	}
	return fmt.Errorf("limits of a child: %w on %s", errors.ErrUnsupported, runtime.GOOS)
}

// apply has nothing to set.
func (l Limits) apply(int) error { return nil }
