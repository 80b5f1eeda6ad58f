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

const (
	usualStarts  = 50
	startsTime   = 10 * time.Second // after that, no more starts if there were enoughStarts
	enoughStarts = 5
	mostForced   = 3
	slowStart    = 5 * time.Second // the shortest time that a known client waits for a start
)

// starts are the figures of each start of a server.
type starts struct {
	ready  []float64 // ns to the end of the handshake
	files  []float64 // in the folder for temporary files, after the start
	open   []float64 // descriptors when it was ready, if that is known
	memory []float64 // bytes in use at that time, if that is known
}

// startsOften starts the server again and again, and ends it as a good client does. It judges how
// long the server takes until it is ready, what the starts leave, and whether each uses more than
// the one before.
func startsOften(ctx context.Context, c *serverCase) error {
	most := c.finding.o.starts
	if most == 0 {
		most = usualStarts
	}
	began := time.Now()
	var all starts
	forced := 0 // starts that did not end at the end of their input
	for n := range most {
		if n >= enoughStarts && time.Since(began) > startsTime {
			break
		}
		start := time.Now()
		s, err := target.Start(ctx, c.o, c.protocol)
		if err != nil {
			return fmt.Errorf("start %d: %w", n+1, err)
		}
		all.ready = append(all.ready, float64(time.Since(start)))
		all.open = append(all.open, float64(len(proc.OpenFiles(s.Process.Cmd.Process.Pid))))
		resident, _ := s.Process.Resident()
		all.memory = append(all.memory, float64(resident))
		wait := time.Duration(0)
		if forced < mostForced { // else the server has shown that it does not leave
			s.CloseInput()
			wait = target.LeaveAtEnd
		}
		if s.Process.Stop(wait, target.LeaveAtTerm) {
			forced++
		}
		s.Close()
		all.files = append(all.files, float64(filesIn(c.temp)))
	}
	c.judgeStarts(all)
	return nil
}

// judgeStarts says what the starts of a server left, and how long they took.
func (c *serverCase) judgeStarts(all starts) {
	n := len(all.ready)
	half := float64(n) / 2
	if grows(all.files, half) {
		c.fails("%d starts left %.0f files in its folder for temporary files", n, all.files[n-1])
	}
	left, _ := proc.EndMarked(c.mark, c.gone())
	if len(left) > 0 {
		c.fails("%d starts left processes: %s",
			n, strings.Join(left[:min(mostNamed, len(left))], ", "))
	}
	if grows(all.open, half) {
		c.fails("start %d had %.0f descriptors open, the first %.0f",
			n, all.open[n-1], all.open[0])
	}
	if grows(all.memory, all.memory[0]/2) {
		c.fails("start %d had %s of memory in use, the first %s", n,
			results.FormatSize(int64(all.memory[n-1])), results.FormatSize(int64(all.memory[0])))
	}
	median := stat.Median(all.ready).Median
	text := fmt.Sprintf("ready after %s in the median of %d starts (%s to %s)",
		results.FormatDuration(median), n, results.FormatDuration(slices.Min(all.ready)),
		results.FormatDuration(slices.Max(all.ready)))
	if median > float64(slowStart) {
		c.slow("%s", text)
	}
	c.ok("%s; none left files or processes", text)
}

// grows reports whether a figure rises by at least this much from the first start to the last, even
// at the lower end of the interval of its slope. Figures that are not known are all 0, and do not
// rise.
func grows(figures []float64, least float64) bool {
	if len(figures) < enoughStarts {
		return false
	}
	var starts []float64
	for i := range figures {
		starts = append(starts, float64(i))
	}
	g, err := stat.FitLine(starts, figures)
	return err == nil && least > 0 && g.Interval.Lo*float64(len(figures)-1) >= least
}
