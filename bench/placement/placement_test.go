package placement

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// Two packages of two cores of two hardware threads each.
var server = Topology{CPUs: []CPU{
	{0, "0,4", "0-1,4-5"}, {1, "1,5", "0-1,4-5"}, {4, "0,4", "0-1,4-5"}, {5, "1,5", "0-1,4-5"},
	{2, "2,6", "2-3,6-7"}, {3, "3,7", "2-3,6-7"}, {6, "2,6", "2-3,6-7"}, {7, "3,7", "2-3,6-7"},
}}

func TestChoose(t *testing.T) {
	hosted := Topology{CPUs: []CPU{{0, "0-1", "0-1"}, {1, "0-1", "0-1"}}}
	single := Topology{CPUs: []CPU{{3, "3", "3"}}}
	for _, c := range []struct {
		name  string
		on    Topology
		place string
		want  CPUs
		err   error
	}{
		{"one CPU for both", server, "same", CPUs{7, 7}, nil},
		{"two threads of a core", server, "sibling", CPUs{3, 7}, nil},
		{"two cores of a package", server, "apart", CPUs{6, 7}, nil},
		{"two packages", server, "far", CPUs{5, 7}, nil},
		{"the scheduler's choice", server, "free", CPUs{Any, Any}, nil},
		{"a hosted runner has siblings", hosted, "sibling", CPUs{0, 1}, nil},
		{"but no two cores", hosted, "apart", CPUs{}, errors.ErrUnsupported},
		{"a single CPU", single, "apart", CPUs{}, errors.ErrUnsupported},
		{"a single CPU can be shared", single, "same", CPUs{3, 3}, nil},
		{"no topology", Topology{}, "same", CPUs{}, errors.ErrUnsupported},
		{"no topology is needed to be free", Topology{}, "free", CPUs{Any, Any}, nil},
	} {
		got, err := c.on.Choose(c.place)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, %v; want %v, %v", c.name, got, err, c.want, c.err)
		}
	}
}

func TestAnUnknownPlaceNamesTheKnown(t *testing.T) {
	_, err := server.Choose("near")
	const known = "same (one CPU), sibling (two threads of a core), apart ("
	if err == nil || !strings.Contains(err.Error(), known) ||
		errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

func TestSummary(t *testing.T) {
	if got, want := server.String(), "8 CPUs, 4 cores, 2 last-level caches"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAPinnedThreadRunsWhereItWasPut(t *testing.T) {
	topology, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	if len(topology.CPUs) == 0 {
		t.Skipf("pipebench chooses no CPUs on %s", runtime.GOOS)
	}
	done := make(chan struct{})
	go func() { // a goroutine that ends locked takes its pinned thread with it
		defer close(done)
		runtime.LockOSThread()
		for _, c := range topology.CPUs {
			if err := PinThread(c.ID); err != nil {
				t.Error(err)
			}
			if cpu, ok := Current(); !ok || cpu != c.ID {
				t.Errorf("pinned to CPU %d, running on %d (%v)", c.ID, cpu, ok)
			}
		}
	}()
	<-done
}
