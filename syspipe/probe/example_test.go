package probe_test

import (
	"fmt"

	"github.com/pipebench/pipebench/syspipe/probe"
)

// The same writes fill pipes of two systems differently.
func ExamplePredict() {
	linux, _ := probe.Predict("linux", "capacity/fill/2049")
	darwin, _ := probe.Predict("darwin", "capacity/fill/2049")
	fmt.Println("2049-byte writes: Linux takes", linux, "bytes, macOS", darwin)
	// Output: 2049-byte writes: Linux takes 32784 bytes, macOS 65536
}
