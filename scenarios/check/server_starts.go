package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// StartsEvidence says how long many starts of a server took, and what they left.
type StartsEvidence struct {
	ReadyNS []float64 `json:"ready_ns"` // from each start to the end of the handshake
	// number of starts that did not end at the end of input
	Forced int `json:"forced,omitempty"`
	// number of files in the folder for temporary files, after each start
	Files []int `json:"files"`
	// number of descriptors that each start had open when it was ready, if that is known
	Open   []int    `json:"open"`
	Memory []int64  `json:"memory_bytes"`   // in use by each start at that time
	Left   []string `json:"left,omitempty"` // processes that all starts left
}

const (
	usualStarts  = 50
	startsTime   = 10 * time.Second // after that, no more starts if there were enoughStarts
	enoughStarts = 5
	mostForced   = 3
	slowStart    = 5 * time.Second // the shortest time that a known client waits for a start
)

// startsOften starts the server again and again, and ends it as a good client does.
func startsOften(ctx context.Context, c *serverCase) error {
	e := &StartsEvidence{}
	c.seen.Starts = e
	most := c.finding.o.starts
	if most == 0 {
		most = usualStarts
	}
	began := time.Now()
	for n := range most {
		if n >= enoughStarts && time.Since(began) > startsTime {
			break
		}
		if err := e.start(ctx, c); err != nil {
			return fmt.Errorf("start %d: %w", n+1, err)
		}
	}
	e.Left, _ = proc.EndMarked(c.mark, c.gone())
	c.judgeStarts(e)
	ready := stat.Median(e.ReadyNS).Median
	text := fmt.Sprintf(
		"ready after %s in the median of %d starts (%s to %s)",
		results.FormatDuration(ready), len(e.ReadyNS),
		results.FormatDuration(slices.Min(e.ReadyNS)),
		results.FormatDuration(slices.Max(e.ReadyNS)))
	if ready > float64(slowStart) {
		c.slow("%s", text)
	}
	c.ok("%s; none left files or processes", text)
	return nil
}

// start starts a server, and ends it when it is ready.
func (e *StartsEvidence) start(ctx context.Context, c *serverCase) error {
	began := time.Now()
	s, err := target.Start(ctx, c.o, c.protocol)
	if err != nil {
		return err
	}
	e.ReadyNS = append(e.ReadyNS, float64(time.Since(began)))
	e.end(s)
	e.Files = append(e.Files, filesIn(c.temp))
	return nil
}

// end records the descriptors and the memory of a server that is ready, and ends it.
func (e *StartsEvidence) end(s *target.Server) {
	open := openFiles(s.Process.Cmd.Process.Pid)
	if open != nil {
		e.Open = append(e.Open, len(open))
	}
	memory, known := s.Process.Resident()
	if known {
		e.Memory = append(e.Memory, memory)
	}
	wait := time.Duration(0)
	if e.Forced < mostForced { // else the server has shown that it does not leave
		s.CloseInput()
		wait = target.LeaveAtEnd
	}
	if s.Process.Stop(wait, target.LeaveAtTerm) {
		e.Forced = min(e.Forced+1, mostForced)
	}
	s.Shutdown(false)
}

// judgeStarts judges what the starts left, and whether each start uses more than the one before.
func (c *serverCase) judgeStarts(e *StartsEvidence) {
	n := len(e.Files)
	half := float64(n) / 2
	if grows(e.Files, half) {
		c.fails("%d starts left %d files in its folder for temporary files", n, e.Files[n-1])
	}
	if len(e.Left) > 0 {
		c.fails("%d starts left processes: %s",
			n, strings.Join(e.Left[:min(mostNamed, len(e.Left))], ", "))
	}
	if grows(e.Open, half) {
		c.fails("start %d had %d descriptors open, the first %d",
			n, e.Open[len(e.Open)-1], e.Open[0])
	}
	if len(e.Memory) == n && grows(e.Memory, float64(e.Memory[0])/2) {
		c.fails("start %d had %s of memory in use, the first %s",
			n, results.FormatSize(e.Memory[n-1]), results.FormatSize(e.Memory[0]))
	}
}

// grows reports whether a figure rises by at least this much from the first start to the last, even
// at the lower end of the interval of its slope.
func grows[N int | int64](figures []N, least float64) bool {
	if len(figures) < enoughStarts {
		return false
	}
	var x, y []float64
	for i, n := range figures {
		x = append(x, float64(i))
		y = append(y, float64(n))
	}
	g, err := stat.FitLine(x, y)
	return err == nil && g.Interval.Lo*float64(len(x)-1) >= least
}
