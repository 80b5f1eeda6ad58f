//go:build unix

package main

import (
	"fmt"
	"syscall"
)

// fewDescriptors are what the Go runtime needs to begin, which it ends the process without.
const fewDescriptors = 8

// enoughDescriptors reports where the process can open so few files that the runtime would crash.
func enoughDescriptors() error {
	for range fewDescriptors {
		fd, err := syscall.Dup(2)
		if err != nil {
			return fmt.Errorf("it may open too few files (%w): raise the limit, as with ulimit -n 256", err)
		}
		defer syscall.Close(fd)
	}
	return nil
}
