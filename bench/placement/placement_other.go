//go:build !linux

package placement

import (
	"errors"
	"fmt"
	"runtime"
)

// PinThread returns an error for every CPU but [Any]: here no thread can be bound.
func PinThread(cpu int) error { return pin(cpu) }

// PinProcess returns an error for every CPU but [Any]: here no process can be bound.
func PinProcess(cpu int) error { return pin(cpu) }

// Current cannot tell here which CPU the calling thread runs on.
func Current() (cpu int, ok bool) { return Any, false }

func pin(cpu int) error {
	if cpu == Any {
		return nil
	}
	return fmt.Errorf("pin to CPU %d: %w on %s", cpu, errors.ErrUnsupported, runtime.GOOS)
}

// Read finds no CPUs, because this package cannot bind threads here. Only the place "free" is
// possible.
func Read() (Topology, error) { return Topology{}, nil }
