//go:build !linux

package placement

// Read finds no CPUs here: this system does not let a program choose them, or
// this package does not know how. [Topology.Choose] then offers free alone.
func Read() (Topology, error) { return Topology{}, nil }
