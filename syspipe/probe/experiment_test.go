package probe

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/pipebench/pipebench/syspipe"
)

// Where room is counted in bytes a slot is one, and the sizes that matter are those of PIPE_BUF.
func TestSizesAreTriedOnceWhateverASlotIs(t *testing.T) {
	for _, slot := range []int{1, 4096, 16384, 65536} {
		sizes := interleaveSizes(slot)
		for _, want := range []int{512, 513, 4096, 4097, 60 << 10} {
			if !slices.Contains(sizes, want) {
				t.Errorf("slot %d: %d is not tried: %v", slot, want, sizes)
			}
		}
		if slot > 1 && !(slices.Contains(sizes, slot) && slices.Contains(sizes, slot+1)) {
			t.Errorf("slot %d is not tried: %v", slot, sizes)
		}
		for _, list := range [][]int{sizes, fillSizes(slot), ascending(1, slot, slot+1)} {
			if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
				t.Errorf("slot %d: %v", slot, list)
			}
		}
	}
}

// emitted returns what f emits in a trial of an anonymous pipe.
func emitted(t *testing.T, f func(*trial)) []Finding {
	t.Helper()
	var found []Finding
	one := trial{kind: syspipe.Anonymous, experiment: experiment{run: f}, report: func(f Finding) error { found = append(found, f); return nil }}
	if err := one.run(); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAVerdictNeedsMessages(t *testing.T) {
	for _, row := range []struct {
		messages, broken int
		want             any
	}{
		{1, 0, "too few"},
		{fewMessages - 1, 0, "too few"},
		{fewMessages, 0, false},
		{1, 1, true}, // one that is broken is enough
	} {
		found := emitted(t, func(t *trial) { t.emitInterleave(512, 4096, row.messages, row.broken) })
		if len(found) != 1 || found[0].Value != row.want {
			t.Errorf("%d broken of %d: %v, want %v", row.broken, row.messages, found, row.want)
		}
		if row.want == "too few" && found[0].Agrees != nil {
			t.Errorf("%d messages agree with a rule", row.messages)
		}
	}
}

func TestTheFirstErrorEndsAnExperiment(t *testing.T) {
	first := errors.New("the first")
	one := trial{experiment: experiment{run: func(*trial) {
		if must(1, nil) != 1 {
			panic("must changed a value")
		}
		check(fmt.Errorf("wrapped: %w", first))
		panic("it went on")
	}}}
	if err := one.run(); !errors.Is(err, first) {
		t.Errorf("got %v", err)
	}
}
