//go:build !linux

package proc

import "time"

// Adopt returns false: this package adopts processes only on Linux.
func Adopt() bool { return false }

// EndAdopted does nothing and returns false.
func EndAdopted(time.Duration) (left []string, known bool) { return nil, false }

// startChild starts the process. No process is adopted here, so nothing has to be noted.
func (p *Process) startChild() error { return p.start() }

func forgetChild(int) {}
