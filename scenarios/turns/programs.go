package turns

import (
	"context"
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A Start is what was counted and timed in one start of a command.
type Start struct {
	CPU  float64 // ns, or ns per message of a server; 0 if the system does not tell
	Wall float64 // ns, or ns per message

	Counted bool // the system has filled Counts
	Counts  proc.Counts
	Peak    int64  // bytes of memory; 0 if it is not known
	Exit    int    // exit code
	Output  string // a digest of what it printed; "" of a server
}

// A Starter starts a command once and returns what was counted and timed.
type Starter func(context.Context) (Start, error)

// Programs are two commands that are compared by their starts: first what is counted, in two starts
// each, then the time in pairs of starts.
type Programs struct {
	OldName, NewName string
	Old, New         Starter

	Counts  bool // only count, do not time
	Servers bool // nothing is counted, and nothing printed: only time is compared
	Outputs bool // outputs may differ

	counted, timed starts
}

// starts are the starts of both sides; old[i] and new[i] ran one after the other.
type starts struct{ old, new []Start }

const (
	countStarts = 2 // starts of each side for the counts
	moreStarts  = 2 // further starts of each side if the counts of any two differ

	// closeEnough is a share: pairs of starts go on until a change as large as this is excluded.
	closeEnough = 0.01
)

// Run counts first, and then runs pairs as the plan says. Commands that do not do the same are not
// timed, unless that is allowed. With an error in the pairs it still returns what was found
// before.
func (p *Programs) Run(ctx context.Context, plan Plan) (*stat.Comparison, error) {
	l := plan.limit(ctx)
	defer l.cancel()
	if !p.Servers {
		if err := p.countBoth(l.ctx); err != nil {
			return nil, err
		}
		if p.Counts || p.different() != "" && !p.Outputs {
			return p.Compare(plan.Options)
		}
	}
	usual := plan.Options
	plan.Options.Tolerance = closeEnough
	_, stopped := plan.run(ctx, l, p)
	found, err := p.Compare(usual)
	if stopped != nil {
		err = stopped
	}
	return found, err
}

// countBoth counts both sides, in more starts if the counts differ.
func (p *Programs) countBoth(ctx context.Context) error {
	for n := range countStarts + moreStarts {
		if n == countStarts && !p.counted.differ() {
			return nil
		}
		if err := p.counted.add(ctx, p, true); err != nil {
			return err
		}
	}
	return nil
}

// add starts both commands once and keeps what was counted and timed.
func (s *starts) add(ctx context.Context, p *Programs, oldFirst bool) error {
	old, new, err := inOrder(oldFirst,
		func() (Start, error) { return p.Old(ctx) },
		func() (Start, error) { return p.New(ctx) })
	if err != nil {
		return err
	}
	s.old = append(s.old, old)
	s.new = append(s.new, new)
	return nil
}

// Pair starts both commands, for their time.
func (p *Programs) Pair(ctx context.Context, oldFirst bool) error {
	return p.timed.add(ctx, p, oldFirst)
}

// differ reports whether calls of any two starts differ.
func (s *starts) differ() bool {
	first := s.old[0].Counts
	for _, one := range slices.Concat(s.old[1:], s.new) {
		c := one.Counts
		if c.Reads != first.Reads || c.Writes != first.Writes ||
			c.ReadBytes != first.ReadBytes || c.WrittenBytes != first.WrittenBytes {
			return true
		}
	}
	return false
}

// different says how two commands differ that should do the same work; "" if they do not.
func (p *Programs) different() string {
	old, new := p.counted.old, p.counted.new
	for i := range old {
		if old[i].Exit != new[i].Exit {
			return fmt.Sprintf("the old one exits with %d, the new one with %d",
				old[i].Exit, new[i].Exit)
		}
	}
	for i := range old {
		if old[i].Output != old[0].Output || new[i].Output != new[0].Output {
			return "a command prints something else at each start, so nobody can tell whether " +
				"both do the same"
		}
	}
	if len(old) > 0 && old[0].Output != new[0].Output {
		return "the two do not print the same"
	}
	return ""
}
