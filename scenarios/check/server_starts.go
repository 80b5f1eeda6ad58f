package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// StartsEvidence is what many starts of a server took and left.
type StartsEvidence struct {
	ReadyNS []float64 `json:"ready_ns"` // from each start to the end of the handshake
	// until the last program of a chain of them was run
	WrapperNS []float64 `json:"wrapper_ns,omitempty"`
	Chain     []string  `json:"chain,omitempty"` // those programs
	// of the starts, that did not end at the end of input
	Forced int `json:"forced,omitempty"`
	// in its folder for temporary files, after each
	Files []int `json:"files"`
	// descriptors that each had open when it was ready, if that is known
	Open   []int    `json:"open"`
	Memory []int64  `json:"memory_bytes"`   // that each had in use then
	Left   []string `json:"left,omitempty"` // processes, of all starts
}

const (
	usualStarts  = 50
	startsTime   = 10 * time.Second // that starts take at most, if there are enough
	enoughStarts = 5
	// starts whose chain of programs is followed, which takes CPU time
	watched   = 3
	slowStart = 5 * time.Second // the shortest time that a client is known to wait for
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
		if err := e.start(ctx, c, n < watched); err != nil {
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
	if len(e.Chain) > 0 {
		wrapper := results.FormatDuration(stat.Median(e.WrapperNS).Median)
		text += fmt.Sprintf(", %s of it until %s runs", wrapper, strings.Join(e.Chain, " → "))
	}
	if ready > float64(slowStart) {
		c.slow("%s", text)
	}
	c.ok("%s; none left files or processes", text)
	return nil
}

// start starts a server, follows its chain of programs if it is to be watched, and ends it.
func (e *StartsEvidence) start(ctx context.Context, c *serverCase, watch bool) error {
	began := time.Now()
	s, err := target.Launch(ctx, c.o, c.protocol)
	if err != nil {
		return err
	}
	var took time.Duration
	var chain []string
	var following sync.WaitGroup
	starting, started := context.WithCancel(ctx)
	if watch {
		pid := s.Process.Cmd.Process.Pid
		following.Go(func() { took, chain = followExecs(starting, pid, began) })
	}
	err = s.Greet(ctx)
	started()
	following.Wait()
	if err != nil {
		return err
	}
	e.ReadyNS = append(e.ReadyNS, float64(time.Since(began)))
	if len(chain) > 1 {
		e.WrapperNS = append(e.WrapperNS, float64(took))
		e.Chain = chain
	}
	e.end(s)
	e.Files = append(e.Files, filesIn(c.temp))
	return nil
}

// end notes what a server has that is ready, and ends it.
func (e *StartsEvidence) end(s *target.Server) {
	open, err := openFiles(s.Process.Cmd.Process.Pid)
	if err == nil {
		e.Open = append(e.Open, len(open))
	}
	memory, known := s.Process.Resident()
	if known {
		e.Memory = append(e.Memory, memory)
	}
	wait := time.Duration(0)
	if e.Forced < watched { // else it has shown that it does not leave
		s.CloseInput()
		wait = target.LeaveAtEnd
	}
	if s.Process.Stop(wait, target.LeaveAtTerm) {
		e.Forced = min(e.Forced+1, watched)
	}
	s.Shutdown(false)
}

// judgeStarts judges what starts left, and whether each takes more than the one before.
func (c *serverCase) judgeStarts(e *StartsEvidence) {
	n := len(e.Files)
	half := float64(n) / 2
	if grows(e.Files, half) {
		c.broken("%d starts left %d files in its folder for temporary files", n, e.Files[n-1])
	}
	if len(e.Left) > 0 {
		c.broken("%d starts left processes: %s",
			n, strings.Join(e.Left[:min(mostNamed, len(e.Left))], ", "))
	}
	if grows(e.Open, half) {
		c.broken("start %d had %d descriptors open, the first %d",
			n, e.Open[len(e.Open)-1], e.Open[0])
	}
	if len(e.Memory) == n && grows(e.Memory, float64(e.Memory[0])/2) {
		c.broken("start %d had %s of memory in use, the first %s",
			n, results.FormatSize(e.Memory[n-1]), results.FormatSize(e.Memory[0]))
	}
}

// grows reports whether a figure goes up with the starts, beyond its scatter, by so much in all of
// them.
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

// followExecs follows which programs are run one after another with the standard input of a
// process, as by a wrapper, until ctx ends, and returns when the last of them was, since began.
func followExecs(
	ctx context.Context, pid int, began time.Time,
) (last time.Duration, names []string) {
	stdin, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", pid))
	seen := map[string]bool{}
	ticks := time.NewTicker(2 * time.Millisecond)
	defer ticks.Stop()
	for ctx.Err() == nil {
		for _, pid := range proc.Tree(pid) {
			program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			in, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", pid))
			id := fmt.Sprint(pid, program)
			if program == "" || in != stdin || seen[id] {
				continue
			}
			seen[id] = true
			last = time.Since(began)
			name := filepath.Base(program)
			if len(names) == 0 || names[len(names)-1] != name {
				names = append(names, name)
			}
		}
		select {
		case <-ctx.Done():
		case <-ticks.C:
		}
	}
	return last, names
}
