//go:build !linux

package client

import "os/exec"

// reap waits for a child. What it has left behind in its group goes on: the child's number is no longer its own once it
// has been waited for.
func reap(cmd *exec.Cmd) { _ = cmd.Wait() } // the state has it all
