//go:build !linux

package tap_test

import (
	"os"
	"runtime"
	"testing"
)

// What is measured, or asked of the system, is Linux's alone so far.

func beRelay([]string)  {}
func beCopy([]string)   {}
func beSplice([]string) {}

func standardTypes() []string { return nil }

func needLinux(t *testing.T) {
	t.Helper()
	t.Skip("not on " + runtime.GOOS)
}

func resize(t *testing.T, _ *os.File, _ int) { needLinux(t) }
