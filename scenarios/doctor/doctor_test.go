package doctor

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/turns"
	"github.com/pipebench/pipebench/scenarios/turns/turnstest"
)

func fake(t *testing.T) Plan {
	t.Helper()
	t.Setenv(fakeEnv, "1")
	self, err := turns.Find(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	return Plan{Binary: self, Invocations: 4, Over: time.Millisecond, MaxTime: time.Minute}
}

func TestInvocationsAreSpreadAndKept(t *testing.T) {
	p, kept, seen := fake(t), 0, 0
	p.Observe = func(done, of int, _ time.Duration) {
		seen++
		if done != seen || of != 4 {
			t.Errorf("step %d: %d of %d", seen, done, of)
		}
	}
	w, err := Run(deadline(t), p, func(*results.Set) error { kept++; return nil })
	if err != nil || len(w.Runs) != 4 || kept != 4 || seen != 4 {
		t.Fatalf("%d runs, %d kept, %d seen: %v", len(w.Runs), kept, seen, err)
	}
	records := stat.BetweenRuns(w.Runs)
	if len(records) != 1 || len(records[0].Values) != 4 ||
		!records[0].Time.After(records[0].Since) {
		t.Errorf("the noise of %d runs: %+v", len(w.Runs), records)
	}
}

func TestTooLateForASecondInvocation(t *testing.T) {
	p := fake(t)
	p.MaxTime = time.Nanosecond
	w, err := Run(deadline(t), p, func(*results.Set) error { return nil })
	if err != nil || len(w.Runs) != 1 {
		t.Errorf("%d runs: %v", len(w.Runs), err)
	}
}

func TestWhenInvocationsAreDue(t *testing.T) {
	for _, c := range []struct {
		name    string
		i, n    int
		longest time.Duration
		want    time.Duration
	}{
		{"the first at once", 0, 7, 0, 0},
		{"the last so that it ends in time", 6, 7, 12 * time.Second, 48 * time.Second},
		{"the others evenly between", 3, 7, 12 * time.Second, 24 * time.Second},
		{"one after the other where there is no time", 3, 7, 2 * time.Minute, 0},
	} {
		if got := due(c.i, c.n, time.Minute, c.longest); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAnInterruptionEndsTheWait(t *testing.T) {
	p := fake(t)
	p.Over, p.MaxTime = time.Hour, time.Hour
	ctx, cancel := context.WithCancel(deadline(t))
	p.Observe = func(int, int, time.Duration) { cancel() }
	w, err := Run(ctx, p, func(*results.Set) error { return nil })
	if !errors.Is(err, context.Canceled) || len(w.Runs) != 1 {
		t.Errorf("%d runs: %v", len(w.Runs), err)
	}
}

func TestAFullDiskEndsTheWatch(t *testing.T) {
	full := errors.New("disk full")
	w, err := Run(deadline(t), fake(t), func(*results.Set) error { return full })
	if !errors.Is(err, full) || len(w.Runs) != 1 {
		t.Errorf("%d runs: %v", len(w.Runs), err)
	}
}

func TestPlansThatCannotBe(t *testing.T) {
	for name, p := range map[string]Plan{
		"two invocations":     {Invocations: 2, MaxTime: time.Minute},
		"no time":             {Invocations: 8},
		"time that runs back": {Invocations: 8, Over: -1, MaxTime: time.Minute},
		"records elsewhere":   {Invocations: 8, MaxTime: 1, Flags: []string{"--out", "x"}},
		"nothing is measured": {Invocations: 8, MaxTime: 1, Flags: []string{"--dry-run"}},
	} {
		if err := p.Validate(); err == nil {
			t.Errorf("%s: the plan was taken", name)
		}
	}
}

func TestNoiseIsKeptByMachine(t *testing.T) {
	cache := t.TempDir()
	// Each system has a variable of its own.
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, cache)
	}
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	env := results.Environment{Run: "r1", Machine: "abc123", Time: now}
	n := results.Noise{
		Run:     "r1",
		Time:    now,
		Machine: "abc123",
		Cell:    turnstest.FakeCell,
		Metric:  "goodput",
		Values:  []float64{1, 2, 3},
	}
	var path string
	for i := range 2 {
		env.Run, n.Values[0] = string(rune('a'+i)), float64(i)+0.5
		var err error
		if path, err = Keep(env, []results.Noise{n}); err != nil {
			t.Fatal(err)
		}
	}
	if set, err := results.Read(path); err != nil || len(set.Noise) != 2 {
		t.Errorf("kept twice: %+v, %v", set, err)
	}
	for _, machine := range []string{"", "../elsewhere", "a/b"} {
		if path, err := File(machine); err == nil {
			t.Errorf("machine %q is in %s", machine, path)
		}
	}
}

func TestWhatIsFoundDependsOnWhatIsSeen(t *testing.T) {
	for _, c := range []struct {
		name string
		w    Watch
		env  results.Environment
		want string // "" for no fault of the kind
		id   string
	}{
		{
			name: "nobody else",
			w: Watch{waiting: machine.Usage{
				Known: true, Busy: 0.1, Elapsed: 10, CPUs: 2,
			}},
			env: results.Environment{Load1: new(9.0)},
			id:  "load",
		},
		{
			name: "somebody else",
			w: Watch{waiting: machine.Usage{
				Known: true, Busy: 5, Elapsed: 10, CPUs: 2,
			}},
			want: "others kept about 0.5 of 2 CPUs busy",
			id:   "load",
		},
		{
			name: "too short a look falls back on the load",
			w:    Watch{waiting: machine.Usage{Known: true, Elapsed: 0.1}},
			env:  results.Environment{Load1: new(1.5)},
			want: "the load average was 1.50 before anything was measured",
			id:   "load",
		},
		{
			name: "a quiet host",
			w:    Watch{working: machine.Usage{Known: true, Busy: 10, Stolen: 0.05}},
			id:   "steal",
		},
		{
			name: "a crowded host",
			w:    Watch{working: machine.Usage{Known: true, Busy: 9, Stolen: 1}},
			want: "the hypervisor took about 10 % of the CPU time",
			id:   "steal",
		},
		{
			name: "a virtual machine",
			env:  results.Environment{Virtualisation: "virtual machine"},
			want: "virtual machine",
			id:   "virtual",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.env.Run = "r1"
			got := ""
			for _, f := range c.w.Faults(c.env) {
				if f.Run != "r1" || f.Advice == "" || f.Verdict == "" {
					t.Errorf("a fault without its run, verdict or remedy: %+v", f)
				}
				if f.ID == results.EnvironmentFault+c.id {
					got = f.Verdict
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
