package failures

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// A side of an exchange sends a message to the other one, and reads the other's.
type side struct {
	out, in  *syspipe.End
	unsent   int // bytes of its message
	unread   int // of the other's
	readsToo bool
}

func showExchange(_ context.Context, r *recorder) error {
	for _, c := range []struct {
		part     string
		size     int
		readsToo bool
	}{
		{"fits", 4 << 10, false},
		{"exceeds", 1 << 20, false},
		{"cure", 1 << 20, true},
	} {
		r.step(c.part)
		f, err := exchange(c.size, c.readsToo)
		if err != nil {
			return err
		}
		if err := r.record(c.part, f); err != nil {
			return err
		}
	}
	return nil
}

// exchange has two sides send each other a message of size bytes. A side reads when it has written
// all of its own, or meanwhile, if readsToo is set. No side waits: when neither can do anything,
// the exchange is stuck.
func exchange(size int, readsToo bool) (results.Finding, error) {
	o := syspipe.Options{IO: syspipe.Spin}
	w1, r1, err := syspipe.Open(syspipe.Anonymous, o)
	if err != nil {
		return results.Finding{}, err
	}
	defer r1.Close()
	defer w1.Close()
	w2, r2, err := syspipe.Open(syspipe.Anonymous, o)
	if err != nil {
		return results.Finding{}, err
	}
	defer r2.Close()
	defer w2.Close()
	a := &side{out: w1, in: r2, unsent: size, unread: size, readsToo: readsToo}
	b := &side{out: w2, in: r1, unsent: size, unread: size, readsToo: readsToo}
	buf := make([]byte, size)
	for a.unread > 0 || b.unread > 0 {
		first, err := a.move(buf)
		if err != nil {
			return results.Finding{}, err
		}
		second, err := b.move(buf)
		if err != nil {
			return results.Finding{}, err
		}
		if !first && !second {
			return results.Finding{
				Class: Stuck, Value: size - a.unsent, Unit: "B",
				Found: fmt.Sprintf("%s each way: %s and %s were taken, then neither could go on",
					formatBytes(size), formatBytes(size-a.unsent), formatBytes(size-b.unsent)),
			}, nil
		}
	}
	found := formatBytes(size) + " each way: all was read"
	return results.Finding{Class: Sound, Value: size, Unit: "B", Found: found}, nil
}

// move writes and reads what it can, and reports whether that was anything.
func (s *side) move(buf []byte) (moved bool, err error) {
	if s.unsent > 0 {
		n, err := s.out.TryWrite(buf[:min(s.unsent, 4<<10)])
		if err != nil && !errors.Is(err, syscall.EAGAIN) {
			return false, err
		}
		s.unsent -= n
		moved = n > 0
	}
	if s.unread > 0 && (s.unsent == 0 || s.readsToo) {
		n, err := s.in.TryRead(buf[:s.unread])
		if err != nil && !errors.Is(err, syscall.EAGAIN) {
			return false, err
		}
		s.unread -= n
		moved = moved || n > 0
	}
	return moved, nil
}

// formatBytes writes a number of bytes as a person would say it: exact where that is short.
func formatBytes(n int) string {
	switch {
	case n%(4<<10) == 0 && n < 1<<20, n%(1<<20) == 0:
		return results.FormatSize(int64(n))
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
