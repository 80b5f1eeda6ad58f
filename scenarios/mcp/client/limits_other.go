//go:build !linux

package client

// apply has nothing to set: Launch refuses limits here.
func (l Limits) apply(int) error { return nil }
