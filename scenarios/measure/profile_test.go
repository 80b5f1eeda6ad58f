package measure

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe/script"
)

func TestEachPlacementOfTheMachineHasItsCells(t *testing.T) {
	for _, row := range []struct {
		name string
		on   placement.Topology
		want []string
	}{
		{"two cores", twoCores, []string{"same", "apart"}},
		{"one CPU", placement.Topology{CPUs: twoCores.CPUs[:1]}, []string{"same"}},
		{"a system that lets nobody choose", placement.Topology{}, []string{"free"}},
	} {
		var places []string
		for _, c := range ProfileCells(row.on) {
			if !slices.Contains(places, c.Placement) {
				places = append(places, c.Placement)
			}
		}
		if !slices.Equal(places, row.want) {
			t.Errorf("%s: got %v, want %v", row.name, places, row.want)
		}
	}
}

func TestTheEngineTakesTheCells(t *testing.T) {
	topology, err := placement.Read()
	if err != nil {
		t.Fatal(err)
	}
	plan := bench.Plan{Run: "r", Cells: ProfileCells(topology), Samples: 1, Duration: 1}
	if err := plan.Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range plan.Cells {
		if err := bench.Unsupported(c); err != nil {
			t.Errorf("%s: %v", c.Key(), err)
		}
	}
}

func TestMemoryIsMeasuredOnEveryPlacement(t *testing.T) {
	topology, err := placement.Read()
	if err != nil {
		t.Fatal(err)
	}
	records, err := Memory(t.Context(), "r", topology)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * len(places(topology)); len(records) != want {
		t.Errorf("%d records, want %d", len(records), want)
	}
	for _, r := range records {
		rate, ok := r.Value.(float64)
		if !ok || rate <= 0 || r.Unit != "B/s" || r.Kind != results.KindProbe || r.Run != "r" || !strings.HasPrefix(r.Step, "memory/copy/") {
			t.Errorf("record %+v", r)
		}
	}
}

func TestMemoryStopsWhenTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Memory(ctx, "r", placement.Topology{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestACPUThatIsNotThereIsAnError(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skipf("pipebench chooses no CPUs on %s", runtime.GOOS)
	}
	if err := script.Run(func() { copyRates(t.Context(), []int{1023}, inCache) }); err == nil {
		t.Error("CPU 1023 copied")
	}
}

// sample is one of a stream of one message.
func sample(bytes, ns int64) results.Sample {
	return results.Sample{ElapsedNS: ns, Messages: 1, PayloadBytes: bytes, WireBytes: bytes}
}

func TestThePageSaysWhatLentPagesDoNotDo(t *testing.T) {
	set := &results.Set{
		Environments: []results.Environment{{Run: "r", OS: "linux"}},
		Probes:       []results.Probe{{Run: "r", Step: copyStep(64<<10, "same"), Value: 20e9, Unit: "B/s"}},
	}
	for _, c := range ProfileCells(placement.Topology{CPUs: twoCores.CPUs[:1]}) {
		if c.Size != 64<<10 || c.Pattern != "stream" {
			continue
		}
		c := results.Record{Kind: results.KindMeasurement, Run: "r", Cell: c}
		c.Samples = []results.Sample{sample(10_000, 1000), sample(10_000, 1000)}
		set.Records = append(set.Records, c)
	}
	var text strings.Builder
	if err := ProfilePage(set).Write(&text, view.FormatTable, view.Options{}); err != nil {
		t.Fatal(err)
	}
	wants := []string{"20.0 GB/s", "10.0 GB/s", "on the same CPU: 10.0 GB/s at most, at 64 KiB, 0.5 of what its CPUs copy"}
	if zeroCopySupported() == nil {
		wants = append(wants, "vmsplice [2]", "nobody reads the bytes", "may not change until")
	}
	for _, want := range wants {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

func TestASetOfAnotherSortHasNoLimits(t *testing.T) {
	if rows := ProfilePage(&results.Set{}).Tables[0].Rows; len(rows) != 0 {
		t.Errorf("rows %v of nothing", rows)
	}
}
