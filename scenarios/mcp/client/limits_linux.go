package client

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

func (l Limits) apply(pid int) error {
	seconds := uint64((l.CPU + time.Second - 1) / time.Second)
	for _, limit := range []struct {
		name     string
		resource int
		value    uint64
	}{
		{"memory", unix.RLIMIT_AS, uint64(l.Memory)},
		{"CPU time", unix.RLIMIT_CPU, seconds},
		{"descriptors", unix.RLIMIT_NOFILE, l.Files},
	} {
		if limit.value == 0 {
			continue
		}
		both := &unix.Rlimit{Cur: limit.value, Max: limit.value}
		err := unix.Prlimit(pid, limit.resource, both, nil)
		if err != nil {
			return fmt.Errorf("limit its %s to %d: %w", limit.name, limit.value, err)
		}
	}
	return nil
}
