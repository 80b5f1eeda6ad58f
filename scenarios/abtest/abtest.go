// Package abtest compares two builds of pipebench the way that a verdict needs: both run at once, a
// round of the one and a round of the other in turn, again and again, the order within a pair left
// to chance, so that what moves the machine moves both.
//
//	plan := abtest.Plan{Old: old, New: new, Flags: []string{"--size", "64KiB"}, Dir: "out"}
//	before, after, err := abtest.Run(ctx, plan)
//	comparison, err := stat.ComparePairs(before, after, stat.CompareOptions{})
//
// The records of each side are kept in a file of their own, pair by pair, and [Read] makes pairs of
// them again. Run may be called from several goroutines, but runs that share a machine disturb each
// other.
package abtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/subrun"
	"github.com/pipebench/pipebench/syspipe/script"
)

// Names of the files in a plan's folder, a side each.
const (
	OldFile = "old.jsonl"
	NewFile = "new.jsonl"
)

// A Plan is which builds to compare, in what, and how often.
type Plan struct {
	Old, New subrun.Binary
	Flags    []string      // for the run command of both
	Pairs    int           // 0 is as many as the number of comparisons asks for ([stat.WantedPairs]), and more while Spend lasts
	Spend    time.Duration // what pairs may take altogether, beyond those that have to be
	MaxTime  time.Duration // begins no pair that would end after it, the first apart, and kills a run that takes longer; 0 is [DefaultMaxTime]
	Seed     int64         // of the order; each pair runs with a seed of its own, the same on both sides
	Dir      string        // a folder for the records, made if need be

	// Observe, if set, is told of each finished pair from the goroutine that called Run, and how long
	// both runs took. Of the first pair, of is known already.
	Observe func(pair, of int, took time.Duration)
}

// DefaultMaxTime is a plan's time where nothing else is asked for.
const DefaultMaxTime = 30 * time.Minute

// Validate reports what of the plan cannot be.
func (p Plan) Validate() error {
	if p.Pairs < 0 || p.MaxTime < 0 {
		return fmt.Errorf("the plan asks for %d pairs in %s; neither can be negative", p.Pairs, p.MaxTime)
	}
	return subrun.CheckFlags(p.Flags)
}

// mostPairs is how many pairs are run because there is time for them, and not because the number of
// comparisons asks for them.
const mostPairs = 100

// fitting returns how many pairs to run where one took so long. It is decided before anything is
// compared: pairs that end when they have a result would find one too often.
func (p Plan) fitting(comparisons int, took time.Duration) int {
	return max(stat.WantedPairs(comparisons), int(min(p.Spend/max(took, 1), mostPairs)))
}

// Run runs the plan. before[i] and after[i] are a pair. When it is stopped, by ctx or an error, it
// returns the pairs that are whole, and the error.
func Run(ctx context.Context, p Plan) (before, after []*results.Set, err error) {
	if err := p.Validate(); err != nil {
		return nil, nil, err
	}
	r, err := newRunner(p)
	if err != nil {
		return nil, nil, err
	}
	err = script.Run(func() { r.run(ctx) })
	return r.before, r.after, errors.Join(err, r.close())
}

// A runner is a plan under way.
type runner struct {
	Plan
	scratch       string // for the folders of single runs
	old, new      *os.File
	random        *rand.Rand
	oldFirst      bool // in the latest pair
	began         time.Time
	longest       time.Duration
	before, after []*results.Set
}

func newRunner(p Plan) (*runner, error) {
	p.MaxTime = cmp.Or(p.MaxTime, DefaultMaxTime)
	r := &runner{Plan: p, random: rand.New(rand.NewPCG(uint64(p.Seed), 0)), began: time.Now()}
	if err := os.MkdirAll(p.Dir, 0o777); err != nil {
		return nil, fmt.Errorf("make the folder for pairs: %w", err)
	}
	var err error
	if r.scratch, err = os.MkdirTemp("", "pipebench-pairs-"); err != nil {
		return nil, fmt.Errorf("make a folder for single runs: %w", err)
	}
	for name, file := range map[string]**os.File{OldFile: &r.old, NewFile: &r.new} {
		if *file, err = os.OpenFile(filepath.Join(p.Dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("begin the records of pairs: %w; name another folder", err), r.close())
		}
	}
	return r, nil
}

func (r *runner) close() error {
	var errs []error
	for _, f := range []*os.File{r.old, r.new} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	os.RemoveAll(r.scratch) // one that stays, as where a scanner of Windows has it open, costs no answer
	return errors.Join(errs...)
}

// run is a script, which a pair ends that is not whole.
func (r *runner) run(ctx context.Context) {
	for r.Pairs == 0 || len(r.before) < r.Pairs {
		if len(r.before) > 0 && time.Since(r.began)+r.longest > r.MaxTime {
			return
		}
		began := time.Now()
		r.pair(ctx)
		took := time.Since(began)
		r.longest = max(r.longest, took)
		if r.Pairs == 0 { // the first pair shows what is going to be compared
			times := stat.Filter(stat.SeriesOf(r.before[0]), func(s stat.Series) bool { return !s.Metric.Counter })
			r.Pairs = r.fitting(len(times), took)
		}
		if r.Observe != nil {
			r.Observe(len(r.before), r.Pairs, took)
		}
	}
}

// pair runs both builds, in turns, and keeps what they left if both did their work.
func (r *runner) pair(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.MaxTime, fmt.Errorf("took longer than the %s of all pairs, and was stopped", r.MaxTime))
	defer cancel()
	folder := filepath.Join(r.scratch, strconv.Itoa(len(r.before)+1))
	old, new := 0, 1
	if !r.toss() {
		old, new = 1, 0
	}
	sides := make([]subrun.Side, 2) // in their order
	sides[old] = subrun.Side{Binary: r.Old, Dir: folder + "-old"}
	sides[new] = subrun.Side{Binary: r.New, Dir: folder + "-new"}
	flags := append([]string{"--seed", strconv.FormatInt(r.Seed+int64(len(r.before)), 10)}, r.Flags...)
	sets, err := subrun.Together(ctx, flags, sides...)
	if err != nil {
		script.Check(fmt.Errorf("pair %d: %w", len(r.before)+1, err))
	}
	script.Check(errors.Join(move(r.old, sides[old].Dir), move(r.new, sides[new].Dir)))
	r.before, r.after = append(r.before, sets[old]), append(r.after, sets[new])
}

// toss says whether the old build goes first: by chance in every odd pair, the other way round in
// the pair after it. What the first of two runs suffers, or gains, meets both builds equally often.
func (r *runner) toss() bool {
	if len(r.before)%2 == 0 {
		r.oldFirst = r.random.IntN(2) == 0
	} else {
		r.oldFirst = !r.oldFirst
	}
	return r.oldFirst
}

// move appends the records of a run's folder to a side's file, byte for byte: another version's
// lines may hold what this one does not know.
func move(into *os.File, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, results.FileName))
	if err == nil {
		_, err = into.Write(text)
	}
	if err != nil {
		return fmt.Errorf("keep a run: %w", err)
	}
	os.RemoveAll(dir)
	return nil
}

// Read makes pairs again of the two files that [Run] left. Files whose runs do not alternate in
// time are an error: they are no pairs. A last run without its partner, of a Run that was stopped,
// is left out.
func Read(oldPath, newPath string) (before, after []*results.Set, err error) {
	old, oldErr := readRuns(oldPath)
	new, newErr := readRuns(newPath)
	if err := cmp.Or(oldErr, newErr); err != nil {
		return nil, nil, err
	}
	n := min(len(old), len(new))
	if n == 0 || max(len(old), len(new)) > n+1 {
		return nil, nil, fmt.Errorf("%s has %d runs and %s has %d: these are no pairs", oldPath, len(old), newPath, len(new))
	}
	for i := range n - 1 {
		last := slices.MaxFunc([]time.Time{began(old[i]), began(new[i])}, time.Time.Compare)
		if !began(old[i+1]).After(last) || !began(new[i+1]).After(last) {
			return nil, nil, fmt.Errorf("run %d of %s and of %s were not measured next to each other: these are no interleaved pairs", i+1, oldPath, newPath)
		}
	}
	return old[:n], new[:n], nil
}

func began(s *results.Set) time.Time { return s.Environments[0].Time }

// readRuns reads a file as a set a run.
func readRuns(path string) ([]*results.Set, error) {
	all, err := results.Read(path)
	if err != nil {
		return nil, err
	}
	sets := stat.Map(all.Environments, func(e results.Environment) *results.Set { return all.OfRun(e.Run) })
	if len(sets) > 0 {
		sets[0].Problems = all.Problems
	}
	return sets, nil
}
