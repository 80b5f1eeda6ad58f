// Package doctor finds out how far figures move on this machine while nothing changes, and what
// about the machine is at fault for it.
//
//	plan := doctor.Plan{Binary: self, Flags: flags, Invocations: 8,
//		Over: 2 * time.Minute, MaxTime: 5 * time.Minute}
//	watch, err := doctor.Run(ctx, plan, keep)
//	records := stat.BetweenRuns(watch.Runs)
//	faults := watch.Faults(environment)
//
// Samples of one run are no measure of that: they share a minute, a layout of memory, and a mood of
// the host. So invocations are processes of their own, spread over the time there is. Run may be
// called from several goroutines, but runs that share a machine disturb each other. It is not
// promised that a machine stays within what was seen: stat.Compare trusts it for no longer than
// it was watched.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/turns"
)

// Least is the number of invocations that a comparison can rest on.
const Least = 3

// A Plan is what to invoke, and how often.
type Plan struct {
	Binary      turns.Build
	Flags       []string // for its run command
	Invocations int      // at least [Least]

	// Over is how long the invocations are spread over. If it is too little for them, one begins
	// when the other has ended.
	Over time.Duration

	// MaxTime is for all invocations. None but the first begins if it is likely to end later, and
	// one that takes a minute longer than this is killed.
	MaxTime time.Duration

	Seed int64 // of the first invocation; each has its own

	// Observe, if set, is told of each invocation from the goroutine that called Run.
	Observe func(done, of int, took time.Duration)
}

// patience is what an invocation may take beyond the time of all of them: on a crowded machine the
// first one may be the only one, but has to come to an end.
const patience = time.Minute

// DefaultFlags are for run where nothing is asked for: every place and pattern, the smallest, a
// middle and the largest message of the usual run, and of the framings the floor and the commonest.
// Others that run alike are judged by the noisiest of them.
var DefaultFlags = []string{"--framing", "raw,ndjson", "--size", "256,64KiB,1MiB"}

// Validate reports what of the plan cannot be.
func (p Plan) Validate() error {
	if p.Invocations < Least {
		return fmt.Errorf("%d invocations show no spread to rest on: it takes %d",
			p.Invocations, Least)
	}
	if p.Over < 0 || p.MaxTime <= 0 {
		return fmt.Errorf("invocations cannot be spread over %s, and end within %s",
			p.Over, p.MaxTime)
	}
	return turns.CheckFlags(p.Flags)
}

// A Watch is what was seen of a machine.
type Watch struct {
	Runs []*results.Set // one an invocation

	working, waiting machine.Usage // of all CPUs, while an invocation ran and while none did
}

// Run invokes the plan's binary again and again, and gives keep what each invocation measured. When
// it is stopped, by ctx or an error, it returns what was seen by then, and the error.
func Run(ctx context.Context, p Plan, keep func(*results.Set) error) (*Watch, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "pipebench-doctor-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for invocations: %w", err)
	}
	// If this fails, as while a scanner of Windows has a file open, the result is no worse for it.
	defer os.RemoveAll(scratch)
	w := &Watch{}
	return w, w.run(ctx, p, scratch, keep)
}

// run makes the invocations of a plan; the first that fails ends it.
func (w *Watch) run(
	ctx context.Context, p Plan, scratch string, keep func(*results.Set) error,
) error {
	began := time.Now()
	var longest time.Duration
	for i := range p.Invocations {
		if i > 0 && time.Since(began)+longest > p.MaxTime {
			return nil
		}
		if err := w.wait(ctx, began.Add(due(i, p.Invocations, p.Over, longest))); err != nil {
			return err
		}
		at := time.Now()
		set, err := w.invoke(ctx, p, i, filepath.Join(scratch, strconv.Itoa(i)))
		if err != nil {
			return fmt.Errorf("invocation %d: %w", i+1, err)
		}
		took := time.Since(at)
		longest = max(longest, took)
		if err := keep(set); err != nil {
			return err
		}
		if p.Observe != nil {
			p.Observe(i+1, p.Invocations, took)
		}
	}
	return nil
}

// wait waits until a time, and adds how the CPUs were used meanwhile.
func (w *Watch) wait(ctx context.Context, until time.Time) error {
	before := machine.ReadUsage()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(until)):
	}
	w.waiting.Add(machine.ReadUsage().Since(before))
	return nil
}

// invoke makes invocation i, and adds what it measured and how the CPUs were used meanwhile.
func (w *Watch) invoke(ctx context.Context, p Plan, i int, dir string) (*results.Set, error) {
	before := machine.ReadUsage()
	late := fmt.Errorf("took much longer than the %s for all invocations, and was stopped; "+
		"give more time (--max-time) or fewer cells", p.MaxTime)
	ctx, cancel := context.WithTimeoutCause(ctx, p.MaxTime+patience, late)
	defer cancel()
	flags := append([]string{"--seed", strconv.FormatInt(p.Seed+int64(i), 10)}, p.Flags...)
	set, err := p.Binary.Run(ctx, dir, flags)
	if err != nil {
		return nil, err
	}
	w.working.Add(machine.ReadUsage().Since(before))
	w.Runs = append(w.Runs, set)
	return set, nil
}

// due returns when invocation i of n begins, if they are to take up the time and the longest of
// them took so long.
func due(i, n int, over, longest time.Duration) time.Duration {
	return max(0, over-longest) * time.Duration(i) / time.Duration(n-1)
}

// oldLoad is the load average above which others are taken to be at work, where nothing better is
// known.
const oldLoad = 0.5

// Faults returns what about the machine disturbs measurements, each with the remedy. None is a fine
// machine, or one that does not tell; [Watch.Checks] names what was looked at. Who else uses the
// CPUs is told while no invocation ran, or, where they left no time to see that, by the load
// average.
func (w *Watch) Faults(env results.Environment) []results.Fault {
	var out []results.Fault
	old := func(f machine.Fault) results.Fault {
		return results.Fault{ID: f.ID, Verdict: f.Found, Advice: f.Advice}
	}
	for _, f := range w.waiting.Faults() {
		if f.ID == "load" {
			out = append(out, old(f))
		}
	}
	if !w.waiting.Shows() && env.Load1 != nil && *env.Load1 > oldLoad {
		out = append(out, loadFault(*env.Load1))
	}
	for _, f := range w.working.Faults() {
		if f.ID != "load" { // that is the invocation's own
			out = append(out, old(f))
		}
	}
	for _, f := range machine.Faults(env) {
		out = append(out, old(f))
	}
	for i := range out {
		out[i].ID = results.EnvironmentFault + out[i].ID
		out[i].Run = env.Run
		out[i].Time = env.Time
	}
	return out
}

// loadFault is the fault of a machine whose load average was above [oldLoad].
func loadFault(load float64) results.Fault {
	return results.Fault{
		ID:       "load",
		Verdict:  fmt.Sprintf("the load average was %.2f before anything was measured", load),
		Evidence: results.MustEvidence(map[string]float64{"load1": load}),
		Advice:   "close other programs, or wait until it is done",
	}
}

// Checks names what Faults looks at on this system.
func (w *Watch) Checks() []string {
	checks := []string{"other load"}
	if w.working.Known {
		checks = append(checks, "steal")
	}
	return append(checks, machine.Checks()...)
}

// File returns where the noise of a machine is kept for this user: in the user's cache folder, by
// the machine's id. It need not be there.
func File(machine string) (string, error) {
	if !regexp.MustCompile(`^[0-9A-Za-z]+$`).MatchString(machine) {
		return "", fmt.Errorf("find what is known of a machine: %q is no machine's id", machine)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find what is known of machine %s: %w", machine, err)
	}
	return filepath.Join(cache, "pipebench", machine+".jsonl"), nil
}

// Keep adds noise records of one machine to its file, for comparisons to come.
func Keep(env results.Environment, records []results.Noise) (path string, err error) {
	path, err = File(env.Machine)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return "", fmt.Errorf("keep the noise of machine %s: %w", env.Machine, err)
	}
	w, err := results.Append(path)
	if err != nil {
		return "", err
	}
	return path, errors.Join(w.Write(env), results.WriteAll(w, records), w.Close())
}
