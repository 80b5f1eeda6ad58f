//go:build !linux

package proc

import "time"

// Adopt reports false: only on Linux can a process adopt what its descendants leave behind.
func Adopt() bool { return false }

// EndAdopted does nothing and returns false.
func EndAdopted(time.Duration) (left []string, known bool) { return nil, false }

func (p *Process) startChild() error { return p.start() }

func forgetChild(int) {}
