package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const memoryVariable = "PIPEBENCH_TEST_MEMORY"

// TestTooLittleAddressSpaceIsNoUsageError limits a child so far that the Go runtime begins, and
// would end it later by the exit status of a wrong usage.
func TestTooLittleAddressSpaceIsNoUsageError(t *testing.T) {
	if os.Getenv(memoryVariable) != "" {
		if err := enoughMemory(); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(exitFailed)
		}
		return
	}
	if raceEnabled {
		t.Skip("the race detector needs more to begin")
	}
	if err := enoughMemory(); err != nil {
		t.Skip(err)
	}
	const script = `ulimit -v 1400000; exec "$0" -test.run '^TestTooLittleAddressSpace'`
	cmd := exec.Command("sh", "-c", script, os.Args[0])
	cmd.Env = append(os.Environ(), memoryVariable+"=1")
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != exitFailed {
		t.Errorf("ended with %v, want status %d", err, exitFailed)
	}
	if !strings.Contains(said.String(), "limited to 1367 MiB") {
		t.Errorf("it says %q", said.String())
	}
}
