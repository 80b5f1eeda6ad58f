package noise

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/pairs/invoke"
)

func fake(t *testing.T) Plan {
	t.Helper()
	t.Setenv(fakeEnv, "1")
	self, err := invoke.Find(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	return Plan{Binary: self, Invocations: 4, MaxTime: time.Second}
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
	if err != nil || len(w.Runs) != kept || kept != seen || kept == 0 {
		t.Fatalf("%d runs, %d kept, %d seen: %v", len(w.Runs), kept, seen, err)
	}
	records := results.BetweenRuns(w.Runs)
	if len(w.Runs) > 1 && (len(records) != 1 || len(records[0].Values) != len(w.Runs) || !records[0].Time.After(records[0].Since)) {
		t.Errorf("the noise of %d runs: %+v", len(w.Runs), records)
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
	p.MaxTime = time.Hour
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
		"records elsewhere":   {Invocations: 8, MaxTime: time.Minute, Flags: []string{"--out", "x"}},
		"nothing is measured": {Invocations: 8, MaxTime: time.Minute, Flags: []string{"--dry-run"}},
	} {
		if err := p.Validate(); err == nil {
			t.Errorf("%s: the plan was taken", name)
		}
	}
}

func TestNoiseIsKeptByMachine(t *testing.T) {
	cache := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} { // each system has its own
		t.Setenv(name, cache)
	}
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	env := results.Environment{Run: "r1", Machine: "abc123", Time: now}
	n := results.Noise{Run: "r1", Time: now, Machine: "abc123", Cell: testCell, Metric: "goodput", Values: []float64{1, 2, 3}}
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
		{"nobody else", Watch{waiting: usage{known: true, busy: 0.1, elapsed: 10, cpus: 2}}, results.Environment{Load1: 9}, "", "load"},
		{"somebody else", Watch{waiting: usage{known: true, busy: 5, elapsed: 10, cpus: 2}}, results.Environment{}, "others keep 0.50 of 2 CPUs busy", "load"},
		{"too short a look falls back on the load", Watch{waiting: usage{known: true, elapsed: 0.1}}, results.Environment{Load1: 1.5}, "the load average was 1.50 before anything was measured", "load"},
		{"a quiet host", Watch{working: usage{known: true, busy: 10, stolen: 0.05}}, results.Environment{}, "", "steal"},
		{"a crowded host", Watch{working: usage{known: true, busy: 9, stolen: 1}}, results.Environment{}, "the hypervisor took 10 % of the CPU time", "steal"},
		{"a quota", Watch{working: usage{known: true, busy: 9, throttled: 0.25, throttleSeen: true}}, results.Environment{}, "a CPU quota stopped the invocations for 250 ms", "throttled"},
		{"a virtual machine", Watch{}, results.Environment{Virtualisation: "virtual machine"}, "virtual machine", "virtual"},
		{"a clock of another age", Watch{}, results.Environment{ClockNS: 1500, ClockStepNS: 280}, "a reading takes 1.50 µs, the smallest step is 280 ns", "clock"},
		{"a clock", Watch{}, results.Environment{ClockNS: 25, ClockStepNS: 20}, "", "clock"},
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

func TestAGovernorThatSavesPower(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("governors are Linux's")
	}
	has := func(governor string) bool {
		for _, f := range processors(results.Environment{Governor: governor}) {
			if f.ID == "governor" {
				return true
			}
		}
		return false
	}
	if !has("powersave") || has("performance") || has("") {
		t.Error("a governor other than performance is a fault, and no other")
	}
}
