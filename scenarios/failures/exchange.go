package failures

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/experiment"
	"github.com/pipebench/pipebench/syspipe"
)

// exchanges are two sides that send each other a message: one that fits a pipe, one that does not,
// and the same of sides that read meanwhile.
var exchanges = []experiment.Experiment{
	{ID: "fits", Do: func(t *experiment.Trial) { exchange(t, "fits", 4<<10, false) }},
	{ID: "exceeds", Do: func(t *experiment.Trial) { exchange(t, "exceeds", 1<<20, false) }},
	{ID: "cure", Do: func(t *experiment.Trial) { exchange(t, "cure", 1<<20, true) }},
}

// A side of an exchange sends a message to the other one, and reads the other's.
type side struct {
	out, in *syspipe.End
	unsent  int // bytes of its message
	unread  int // of the other's
}

// exchange has two sides send each other a message of size bytes. A side reads when it has written
// all of its own, or meanwhile, if readsToo is set. No side waits: when neither can do anything,
// the exchange is stuck.
func exchange(t *experiment.Trial, part string, size int, readsToo bool) {
	a := &side{unsent: size, unread: size}
	b := &side{unsent: size, unread: size}
	a.out, b.in = t.Open(syspipe.Anonymous)
	b.out, a.in = t.Open(syspipe.Anonymous)
	for _, end := range []*syspipe.End{a.out, b.in, b.out, a.in} {
		t.Check(end.SetIO(syspipe.Spin))
	}
	for t.Err() == nil && a.unread+b.unread > 0 {
		before := *a
		other := *b
		a.move(t, readsToo)
		b.move(t, readsToo)
		if *a == before && *b == other {
			t.Found(results.Finding{
				ID: part, Class: Stuck, Value: size - a.unsent, Unit: "B",
				Found: fmt.Sprintf("%s each way: %s and %s were taken, then neither could go on",
					formatBytes(size), formatBytes(size-a.unsent), formatBytes(size-b.unsent)),
			})
			return
		}
	}
	t.Found(results.Finding{
		ID: part, Class: Sound, Value: size, Unit: "B",
		Found: formatBytes(size) + " each way: all was read",
	})
}

// move writes and reads what it can.
func (s *side) move(t *experiment.Trial, readsToo bool) {
	buf := make([]byte, 4<<10)
	if s.unsent > 0 {
		n, err := s.out.TryWrite(buf[:min(s.unsent, len(buf))])
		if !errors.Is(err, syscall.EAGAIN) {
			t.Check(err)
		}
		s.unsent -= n
	}
	if s.unread > 0 && (s.unsent == 0 || readsToo) {
		n, err := s.in.TryRead(buf[:min(s.unread, len(buf))])
		if !errors.Is(err, syscall.EAGAIN) {
			t.Check(err)
		}
		s.unread -= n
	}
}

// formatBytes writes a number of bytes as a person would say it.
func formatBytes(n int) string { return results.FormatLabel(float64(n), "B") }
