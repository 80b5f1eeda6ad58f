package machine

import (
	"runtime"
	"testing"
)

func TestTheMachineIsTheSameTwice(t *testing.T) {
	a, b := Describe("a", 1), Describe("b", 2)
	if a.Machine == "" || a.Machine != b.Machine {
		t.Errorf("two descriptions of one machine: %q and %q", a.Machine, b.Machine)
	}
	if a.Run != "a" || b.Seed != 2 {
		t.Errorf("got run %q and seed %d", a.Run, b.Seed)
	}
}

func TestTheMachineDependsOnWhatDecidesFigures(t *testing.T) {
	a := Describe("a", 1)
	for name, change := range map[string]func(){
		"kernel": func() { a.Kernel += "x" },
		"cpus":   func() { a.CPUs++ },
		"page":   func() { a.PageSize *= 4 },
	} {
		before := identify(a)
		change()
		if identify(a) == before {
			t.Errorf("%s: another machine has the same name", name)
		}
	}
}

func TestTheClockIsMeasured(t *testing.T) {
	// ns: what Windows' timer interrupt counts in at best, and Go's clock with it
	const interrupts = 500_000
	if cost, step := clock(); cost <= 0 || step <= 0 || step >= interrupts {
		t.Errorf("a reading costs %v ns, the smallest step is %d ns", cost, step)
	}
}

func TestLinuxTellsAllOfItself(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc and /sys")
	}
	e := Describe("a", 1)
	if e.Kernel == "" || e.Topology == "" || e.PipeMaxSize == 0 {
		t.Errorf("something is missing: %+v", e)
	}
}
