package check

import (
	"cmp"
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
	enoughStarts = 5                // at least this many starts are made, however long they take
	startsTime   = 10 * time.Second // after this time, enoughStarts starts suffice
	// After this many starts in which the server did not exit by itself, we no longer wait for its
	// exit.
	mostForced = 3
	slowStart  = 5 * time.Second // known clients wait at least this long for a server to start
)

// starts holds measurements of all starts of a server. Each list has one value per start.
type starts struct {
	ready  []float64 // ns to the end of the handshake
	files  []float64 // files in the folder for temporary files, after the end of the server
	memory []float64 // bytes in use when the server was ready; 0 if not known
}

// startsOften starts and ends the server again and again. It judges how long a start takes, and
// whether files, processes, descriptors or memory pile up.
func startsOften(ctx context.Context, c *serverCase) error {
	most := cmp.Or(c.options.starts, usualStarts)
	began := time.Now()
	var all starts
	forced := 0 // starts whose server did not exit at the end of its input
	for n := range most {
		if n >= enoughStarts && time.Since(began) > startsTime {
			break
		}
		start := time.Now()
		s, err := target.Start(ctx, c.target, c.protocol)
		if err != nil {
			return fmt.Errorf("start %d: %w", n+1, err)
		}
		all.ready = append(all.ready, float64(time.Since(start)))
		resident, _ := s.Process.Resident()
		all.memory = append(all.memory, float64(resident))
		wait := time.Duration(0) // for a server that has shown that it does not exit
		if forced < mostForced {
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

// judgeStarts judges what the starts of a server left behind, and how long they took.
func (c *serverCase) judgeStarts(all starts) {
	n := len(all.ready)
	if grows(all.files, float64(n)/2) { // one more file per two starts
		c.fails("%d starts left %.0f files in its folder for temporary files", n, all.files[n-1])
	}
	left, _ := proc.EndMarked(c.mark, c.leaveTime())
	if len(left) > 0 {
		c.fails("%d starts left processes: %s",
			n, strings.Join(left[:min(mostNamed, len(left))], ", "))
		c.Advice = adviceToEnd
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

// grows reports whether the figures certainly rise by at least the given amount, from the first
// start to the last. Figures that are not known are all 0, so they do not rise.
func grows(figures []float64, least float64) bool {
	if len(figures) < enoughStarts {
		return false
	}
	var numbers []float64 // 0, 1, 2, … for the starts
	for i := range figures {
		numbers = append(numbers, float64(i))
	}
	line, err := stat.FitLine(numbers, figures)
	return err == nil && least > 0 && line.Interval.Lo*float64(len(figures)-1) >= least
}
