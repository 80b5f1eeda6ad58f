//go:build !linux

package proc

import "time"

// awaitExit does not wait. A job of Windows is still ours when its process was waited for; on the
// BSDs x/sys has no call that leaves a zombie, and the group is ended right after its leader was
// waited for, before its number can come round again.
func (p *Process) awaitExit() bool { return false }

func runnable(int) bool { return false }

func peakAddresses(int) (int64, bool) { return 0, false }

// treeCPU knows nothing of what the process started.
func treeCPU(pid int) (time.Duration, bool) { return runningCPU(pid) }

// Tree lists a process alone: what it started is not told.
func Tree(pid int) []int { return []int{pid} }

// Marked knows nothing of the environment of others.
func Marked(string) ([]int, bool) { return nil, false }

func nameOf(int) string { return "" }

func resident(int) (int64, bool) { return 0, false }
