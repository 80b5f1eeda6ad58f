package yardstick

import "os/exec"

// together has nothing to do: the program does not run here.
func together(*exec.Cmd) {}
