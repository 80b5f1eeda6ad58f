package check

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A situation runs one test and sets the verdict of f, which is "ok" at first. If it returns an
// error, the verdict becomes "cannot-tell".
type situation func(ctx context.Context, f *finding) error

// alone lists tests that run one by one, after all others. These tests measure times, or judge what
// the other tests have seen.
var alone = []string{"block-buffer", "stray-output", "many-starts", "mcp-schema"}

// parallel is how many tests run at once. The number of CPUs does not matter, since tests mostly
// wait.
const parallel = 4

// A trial is one test that is to be run.
type trial struct {
	about   catalogue.Situation
	do      situation
	finding finding
	done    chan struct{} // closed when the finding is complete
}

// try runs the tests in the map tries, or only those that o.Only names. Several tests run at once,
// but sink gets the results in the order of the catalogue.
func (o Options) try(
	ctx context.Context, side catalogue.Side, tries map[string]situation, sink Sink,
) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait() // waits for tests that have begun, after cancel has told them to end
	defer cancel()
	var trials []*trial
	for _, s := range catalogue.For(side) {
		do := tries[s.Name]
		if do != nil && (len(o.Only) == 0 || slices.Contains(o.Only, s.Name)) {
			trials = append(trials, &trial{about: s, do: do, done: make(chan struct{})})
		}
	}
	running.Go(func() { o.tryAll(ctx, side, trials) })
	for _, t := range trials {
		<-t.done
		if err := sink(t.finding.Finding); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// tryAll runs several tests at once. A test that fails runs again at the end, while no other test
// runs. Only a second failure counts, unless the first is certain.
func (o Options) tryAll(ctx context.Context, side catalogue.Side, trials []*trial) {
	var group errgroup.Group
	group.SetLimit(parallel)
	var mu sync.Mutex
	var failed []*trial // tests that failed while other tests ran
	for _, t := range trials {
		if slices.Contains(alone, t.about.Name) {
			continue
		}
		group.Go(func() error {
			t.finding = o.tryOne(ctx, side, t.about, t.do)
			counts := t.finding.certain || len(trials) == 1
			if t.finding.Verdict != results.Fails || counts {
				close(t.done)
				return nil
			}
			mu.Lock()
			failed = append(failed, t)
			mu.Unlock()
			return nil
		})
	}
	_ = group.Wait() // no function of the group returns an error
	for _, t := range trials {
		if slices.Contains(alone, t.about.Name) {
			t.finding = o.tryOne(ctx, side, t.about, t.do)
			close(t.done)
		}
	}
	for _, t := range failed {
		again := o.tryOne(ctx, side, t.about, t.do)
		if ctx.Err() != nil {
			t.finding.withdraw(t.finding.stopped(ctx) + " before it was tried again alone")
		} else if again.Verdict != results.Fails {
			why := "tried again with nothing beside it: " + again.Found
			if again.Verdict != results.CannotTell {
				why += ": so it depends on what ran before or beside it"
			}
			t.finding.withdraw(why)
		}
		close(t.done)
	}
}

// tryOne runs one test and returns its result. If ctx has ended by then, the verdict is
// "cannot-tell", whatever the test has seen.
func (o Options) tryOne(
	ctx context.Context, side catalogue.Side, about catalogue.Situation, do situation,
) finding {
	f := finding{name: about.Name, mild: about.Mild, options: o, mark: newMark()}
	f.Kind = results.KindFinding
	f.Run = o.Run
	f.ID = results.AreaCheck + "/" + string(side) + "/" + about.Name
	f.Title = about.Title
	f.About = o.about()
	f.Verdict = results.OK
	err := f.run(ctx, do)
	if ctx.Err() != nil {
		f.clear()
		err = errors.New(f.stopped(ctx) + " before this was judged")
	}
	if err != nil {
		f.cannotTell("%s", strings.TrimSpace(err.Error()))
	}
	if f.Verdict == results.Fails || f.Verdict == results.Slow {
		f.Advice = cmp.Or(f.Advice, adviceFor(f.Class, o.Command), about.Advice)
	} else {
		f.Advice = ""
		f.Reproduce = ""
	}
	f.Time = time.Now().UTC()
	return f
}

// stopped says why ctx has ended. If somebody interrupted the check, the finding gets that class.
func (f *finding) stopped(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "the check ended"
	}
	f.Class = cmp.Or(f.Class, classInterrupted)
	return "interrupted"
}

// run runs the test, and removes the processes and files that the test leaves behind.
func (f *finding) run(ctx context.Context, do situation) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f.options.Observe != nil {
		f.options.Observe(f.name)
	}
	folder, err := os.MkdirTemp("", "pipebench-check-")
	if err != nil {
		return err
	}
	f.temp = filepath.Join(folder, "tmp")
	err = os.Mkdir(f.temp, 0o700)
	if err == nil {
		// When the time is over, a test must not wait on for a process that stays.
		stop := context.AfterFunc(ctx, func() { proc.EndMarked(f.mark, 0) })
		err = do(ctx, f)
		stop()
	}
	proc.EndMarked(f.mark, 0)
	os.RemoveAll(folder) // an error is ignored: some files of the program may resist
	return err
}
