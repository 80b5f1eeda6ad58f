package machine

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
)

func ids(faults []Fault) []string {
	var out []string
	for _, f := range faults {
		out = append(out, f.ID)
	}
	return out
}

func TestUsageTellsWhoElseWasThere(t *testing.T) {
	for _, c := range []struct {
		name string
		u    Usage
		want string // the verdicts
	}{
		{"the system tells nothing", Usage{Busy: 9, Elapsed: 9, Throttled: 9, Stolen: 9}, ""},
		{"nobody else", Usage{Known: true, Busy: 5.1, Own: 5, Elapsed: 10, CPUs: 2}, ""},
		{
			"somebody else", Usage{Known: true, Busy: 9, Own: 5, Elapsed: 10, CPUs: 2},
			"other programs kept about 0.4 of 2 CPUs busy",
		},
		{"too short a look", Usage{Known: true, Busy: 0.4, Elapsed: 0.4, CPUs: 2}, ""},
		{"a quiet host", Usage{Known: true, Busy: 10, Own: 10, Stolen: 0.05, Elapsed: 9}, ""},
		{
			"a crowded host", Usage{Known: true, Busy: 9, Own: 9, Stolen: 1, Elapsed: 9},
			"the hypervisor took about 10 % of the CPU time",
		},
		{
			"a quota",
			Usage{Known: true, Busy: 9, Own: 9, Throttled: 0.25, Elapsed: 9},
			"a CPU quota stopped what was measured for about 0.2 s",
		},
	} {
		var got []string
		for _, f := range c.u.Faults() {
			if f.Advice == "" || f.ID == "" {
				t.Errorf("%s: no remedy: %+v", c.name, f)
			}
			got = append(got, f.Found)
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: got %q, want %q", c.name, text, c.want)
		}
	}
}

func TestUsageSinceAnEarlierOne(t *testing.T) {
	from := Usage{Known: true, Busy: 1, Own: 0.5, Stolen: 0.25, CPUs: 2}
	to := Usage{Known: true, Busy: 2, Own: 1, Stolen: 0.75, CPUs: 2}
	if d := to.Since(from); !d.Known || d.Busy != 1 || d.Own != 0.5 || d.Stolen != 0.5 {
		t.Errorf("got %+v", d)
	}
	if d := (Usage{}).Since(from); d.Known {
		t.Errorf("of nothing: got %+v", d)
	}
	if was := ReadUsage(); was.Known && ReadUsage().Since(was).Busy < 0 {
		t.Error("the CPUs did less than nothing")
	}
}

func TestWhatTouchesEveryFigure(t *testing.T) {
	good := results.Environment{
		ClockNS: 25, ClockStepNS: 20, Governor: "performance", Virtualisation: "virtual machine",
	}
	at := ids(Disturbing(good))
	slow := good
	slow.ClockNS, slow.ClockStepNS = 1500, 280
	if got := ids(Disturbing(slow)); len(got) != len(at)+1 || !slices.Contains(got, "clock") {
		t.Errorf("a slow clock: %q, without %q", got, at)
	}
	if slices.Contains(at, "virtual") || !slices.Contains(ids(Faults(good)), "virtual") {
		t.Error("that a machine is virtual is no disturbance by itself, but is to be told")
	}
	for _, f := range Faults(slow) {
		if f.Found == "" || f.Advice == "" || !strings.HasSuffix(f.Warning(), f.Advice) {
			t.Errorf("a fault without verdict or remedy: %+v", f)
		}
	}
}

func TestAGovernorThatSavesPower(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("governors are Linux's")
	}
	has := func(governor string) bool {
		return slices.Contains(ids(Disturbing(results.Environment{Governor: governor})), "governor")
	}
	if !has("powersave") || has("performance") || has("") {
		t.Error("a governor other than performance is a fault, and no other")
	}
}

func TestStolenTimeIsKnownOfBothCPUsOrNot(t *testing.T) {
	u := Usage{stolenByCPU: map[int]float64{0: 1, 1: 2}}
	if stolen, known := u.StolenFrom(0, 1); stolen != 3*time.Second || !known {
		t.Errorf("of two CPUs: %v, %v, want 3s, true", stolen, known)
	}
	if _, known := u.StolenFrom(0, 7); known {
		t.Error("what was stolen from CPU 7 is not known")
	}
}
