package turns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pipebench/pipebench/results"
)

// Names of the files in a plan's folder, one for each side.
const (
	OldFile = "old.jsonl"
	NewFile = "new.jsonl"
)

// A Plan says which builds to compare, with which flags, and how often.
type Plan struct {
	Old, New Build
	Flags    []string      // for the run command of both
	Pairs    int           // at most; 0: leastPairs, and more while Spend lasts
	Spend    time.Duration // time for pairs beyond leastPairs
	MaxTime  time.Duration // no pair but the first begins that would end later; 0: DefaultMaxTime
	Seed     int64         // of the order, and of the first pair; it is the same for both sides
	Dir      string        // a folder for the records, made if it is not there

	// Decided, if set, is asked after each pair whether the pairs so far are enough. Who asks after
	// every pair has to judge by what holds at every stop, as [stat.ComparePairs] does.
	Decided func(before, after []*results.Set) bool

	// Observe, if set, is called after each pair by the goroutine that called Run.
	Observe func(pair, of int, took time.Duration)
}

// DefaultMaxTime is a plan's time if it names none.
const DefaultMaxTime = 30 * time.Minute

const (
	leastPairs = 20  // that are run if the verdicts need them
	mostPairs  = 100 // that are run only because there is time
)

// Validate returns an error if a number of the plan is negative or a flag cannot be passed on.
func (p Plan) Validate() error {
	if p.Pairs < 0 || p.MaxTime < 0 {
		return fmt.Errorf("the plan asks for %d pairs in %s; neither can be negative",
			p.Pairs, p.MaxTime)
	}
	return CheckFlags(p.Flags)
}

// wantedPairs returns how many pairs to run at most if the first one took so long.
func (p Plan) wantedPairs(took time.Duration) int {
	affordable := mostPairs
	if took > 0 && p.Spend/took < mostPairs {
		affordable = int(p.Spend / took)
	}
	return max(leastPairs, affordable)
}

// Run measures the pairs of a plan; before[i] and after[i] are a pair. When ctx or an error stops
// it, it returns the pairs that are whole, and the error.
func Run(ctx context.Context, p Plan) (before, after []*results.Set, err error) {
	if err := p.Validate(); err != nil {
		return nil, nil, err
	}
	r, err := newRunner(p)
	if err != nil {
		return nil, nil, err
	}
	err = r.run(ctx)
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
	longest       time.Duration // of a pair
	before, after []*results.Set
}

func newRunner(p Plan) (*runner, error) {
	if p.MaxTime == 0 {
		p.MaxTime = DefaultMaxTime
	}
	r := &runner{Plan: p, random: rand.New(rand.NewPCG(uint64(p.Seed), 0)), began: time.Now()}
	if err := os.MkdirAll(p.Dir, 0o777); err != nil {
		return nil, fmt.Errorf("make the folder for pairs: %w", err)
	}
	var err error
	r.old, err = createSide(p.Dir, OldFile)
	if err != nil {
		return nil, err
	}
	r.new, err = createSide(p.Dir, NewFile)
	if err != nil {
		r.old.Close()
		os.Remove(r.old.Name()) // nothing is in it
		return nil, err
	}
	r.scratch, err = os.MkdirTemp("", "pipebench-pairs-")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a folder for single runs: %w", err), r.close())
	}
	return r, nil
}

// createSide creates the file of a side, which must not be there yet.
func createSide(dir, name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin the records of pairs: %w; name another folder", err)
	}
	return f, nil
}

func (r *runner) close() error {
	if r.scratch != "" {
		os.RemoveAll(r.scratch) // a file that Windows keeps open for a scanner may stay
	}
	return errors.Join(r.old.Close(), r.new.Close())
}

// run measures pairs until there are enough or the time is up. A pair that fails ends it.
func (r *runner) run(ctx context.Context) error {
	for r.Pairs == 0 || len(r.before) < r.Pairs {
		if len(r.before) > 0 && time.Since(r.began)+r.longest > r.MaxTime {
			return nil
		}
		began := time.Now()
		if err := r.pair(ctx); err != nil {
			return fmt.Errorf("pair %d: %w", len(r.before)+1, err)
		}
		took := time.Since(began)
		r.longest = max(r.longest, took)
		if r.Pairs == 0 {
			r.Pairs = r.wantedPairs(took)
		}
		if r.Observe != nil {
			r.Observe(len(r.before), r.Pairs, took)
		}
		if r.Decided != nil && r.Decided(r.before, r.after) {
			return nil
		}
	}
	return nil
}

// pair runs both builds in turns, and keeps what they left if both did their work.
func (r *runner) pair(ctx context.Context) error {
	tooLong := fmt.Errorf("took longer than the %s of all pairs, and was stopped", r.MaxTime)
	ctx, cancel := context.WithTimeoutCause(ctx, r.MaxTime, tooLong)
	defer cancel()
	folder := filepath.Join(r.scratch, strconv.Itoa(len(r.before)+1))
	old := Side{r.Old, folder + "-old"}
	new := Side{r.New, folder + "-new"}
	flags := []string{"--seed", strconv.FormatInt(r.Seed+int64(len(r.before)), 10)}
	flags = append(flags, r.Flags...)

	var oldSet, newSet *results.Set
	r.oldFirst = nextOrder(r.random, len(r.before), r.oldFirst)
	if r.oldFirst {
		sets, err := Together(ctx, flags, old, new)
		if err != nil {
			return err
		}
		oldSet, newSet = sets[0], sets[1]
	} else {
		sets, err := Together(ctx, flags, new, old)
		if err != nil {
			return err
		}
		newSet, oldSet = sets[0], sets[1]
	}
	if err := errors.Join(keepRun(r.old, old.Dir), keepRun(r.new, new.Dir)); err != nil {
		return err
	}
	r.before = append(r.before, oldSet)
	r.after = append(r.after, newSet)
	return nil
}

// keepRun appends the records of a run's folder to a side's file, byte for byte: lines of another
// version may hold what this one does not know.
func keepRun(into *os.File, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, results.FileName))
	if err != nil {
		return fmt.Errorf("keep a run: %w", err)
	}
	if _, err := into.Write(text); err != nil {
		return fmt.Errorf("keep a run: %w", err)
	}
	os.RemoveAll(dir)
	return nil
}

// Read makes pairs again of the two files that [Run] left. Files whose runs do not alternate in
// time are an error. A last run without its partner, from a Run that was stopped, is left out.
func Read(oldPath, newPath string) (before, after []*results.Set, err error) {
	old, oldErr := readRuns(oldPath)
	new, newErr := readRuns(newPath)
	if err := cmp.Or(oldErr, newErr); err != nil {
		return nil, nil, err
	}
	n := min(len(old), len(new))
	if n == 0 || max(len(old), len(new)) > n+1 {
		return nil, nil, fmt.Errorf("%s has %d runs and %s has %d: these are no pairs",
			oldPath, len(old), newPath, len(new))
	}
	for i := range n - 1 {
		last := began(old[i])
		if began(new[i]).After(last) {
			last = began(new[i])
		}
		if !began(old[i+1]).After(last) || !began(new[i+1]).After(last) {
			return nil, nil, fmt.Errorf("run %d of %s and of %s were not measured next to each "+
				"other: these are no interleaved pairs", i+1, oldPath, newPath)
		}
	}
	return old[:n], new[:n], nil
}

func began(s *results.Set) time.Time { return s.Environments[0].Time }

// readRuns reads a file as one set for each run.
func readRuns(path string) ([]*results.Set, error) {
	all, err := results.Read(path)
	if err != nil {
		return nil, err
	}
	var sets []*results.Set
	for _, e := range all.Environments {
		sets = append(sets, all.OfRun(e.Run))
	}
	if len(sets) > 0 {
		sets[0].Problems = all.Problems
	}
	return sets, nil
}
