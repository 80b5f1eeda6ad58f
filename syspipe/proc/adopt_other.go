//go:build !linux

package proc

import "time"

// Adopt reports false: only for Linux does this package adopt what descendants leave behind.
func Adopt() bool { return false }

// EndAdopted does nothing and returns false.
func EndAdopted(time.Duration) (left []string, known bool) { return nil, false }

// startChild starts the process; there are no adopted ones to tell it from.
func (p *Process) startChild() error { return p.start() }

func forgetChild(int) {}
