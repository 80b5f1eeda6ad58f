package drive

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// A Want is what [Check] demands of a server, an assertion such as "p99<50ms@64KiB".
type Want string

// Limit demands that messages of so many bytes work, in both directions as far as they can be told
// apart.
func Limit(bytes int) Want { return Want(fmt.Sprintf("limit>=%d", bytes)) }

// Slope demands that time grows with the size of a message by less than this power: 1 is linear, 2
// quadratic; [stat.FastGrowth] is a good bound.
func Slope(below float64) Want { return Want(fmt.Sprintf("slope<%g", below)) }

// Assert demands what an assertion says.
func Assert(text string) Want { return Want(text) }

// checkTime bounds a Check whose test has no deadline of its own.
const checkTime = 5 * time.Minute

// Check drives the server that cmd starts, and fails the test if it does not do what is wanted, or,
// without wants, if it fails at any size from 1 KiB to 1 MiB. Of cmd its Args, Env and Dir are
// used; it is not started itself, and may be started several times in its place.
func Check(t testing.TB, cmd *exec.Cmd, wants ...Want) {
	t.Helper()
	p := Plan{SmallPipe: -1}
	var asserts []stat.Assert
	for _, w := range wants {
		a, err := stat.ParseAssert(string(w))
		if err != nil {
			t.Errorf("drive %s: %v", cmd, err)
			return
		}
		asserts = append(asserts, a)
		switch {
		case a.Metric == "limit":
			p.Limits, p.LimitTo = true, max(p.LimitTo, int(a.Value))
			p.Sizes = append(p.Sizes, int(a.Value))
		case a.Metric == "slope":
			p.Sizes = append(p.Sizes, Doubling(linearFrom, 1<<20)...)
		case a.Size > 0:
			p.Sizes = append(p.Sizes, int(a.Size))
		}
		p.Demand(a)
	}
	set, err := check(t.Context(), cmd, p)
	if err != nil {
		t.Errorf("drive %s: %v", cmd, err)
		return
	}
	for _, a := range asserts {
		if j := a.Evaluate(set); j.Outcome != stat.Holds {
			t.Errorf("%s: %s: %s: %s", cmd, a.Text, j.Outcome, j.Why)
		}
	}
	for _, r := range set.Targets {
		if v := Verdict(r.Verdict); len(wants) == 0 && v != Superlinear && !r.Served() {
			t.Errorf("%s: %s: %s", cmd, view.TargetLine(r), v.Advice())
		}
	}
}

// check drives the server that cmd would start.
func check(ctx context.Context, cmd *exec.Cmd, p Plan) (*results.Set, error) {
	if len(p.Sizes) == 0 {
		p.Sizes = Doubling(1<<10, 1<<20)
	}
	slices.Sort(p.Sizes)
	p.Sizes = slices.Compact(p.Sizes)
	ctx, cancel := context.WithTimeoutCause(ctx, checkTime, fmt.Errorf("not done after %s", checkTime))
	defer cancel()
	command := append([]string{cmd.Path}, cmd.Args[min(1, len(cmd.Args)):]...) // the program as it was found
	d, err := Open(ctx, Options{Command: command, Env: cmd.Env, Dir: cmd.Dir, Run: "check"})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	set := new(results.Set)
	return set, d.Drive(ctx, p, func(l results.Line) error {
		set.Add(l)
		return nil
	})
}
