package probe

import (
	"slices"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/script"
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
	one := trial{kind: syspipe.Anonymous, emit: func(f Finding) { found = append(found, f) }}
	if err := script.Run(func() { f(&one) }); err != nil {
		t.Fatal(err)
	}
	return found
}

// Where starting a process takes half a second, an emulator, no experiment hangs after five.
func TestASlowMachineHasMoreTime(t *testing.T) {
	for start, want := range map[time.Duration]time.Duration{
		10 * time.Millisecond:  DefaultStepTimeout,
		500 * time.Millisecond: 100 * time.Second,
		5 * time.Second:        maxStepTimeout,
	} {
		if got := stepLimit(start); got != want {
			t.Errorf("started in %s: %s, want %s", start, got, want)
		}
	}
}

// gVisor calls itself Linux and counts room in bytes: what is no page there differs from no rule.
func TestGVisorHasRulesOfItsOwn(t *testing.T) {
	gvisor := system{"gvisor", 4096, 64 << 10}
	for step, want := range map[string]any{
		"slot": 1, "all-or-nothing": 4096, "poll/writable-after": 1, "capacity/fill/2049": 63519, "capacity/fill/4097": 64 << 10, "capacity/fill/4095": 65520,
		"interleave/4096/read-4096": false, "settable/100000": nil, "broken/after-100/accepted": nil,
	} {
		if got, ok := gvisor.predict(step); ok != (want != nil) || got != want && ok {
			t.Errorf("%s: %v, %t; want %v", step, got, ok, want)
		}
	}
}

func TestAVerdictNeedsMessages(t *testing.T) {
	for _, row := range []struct {
		messages, runs, broken int
		want                   any
	}{
		{1, 1, 0, "too few"},
		{fewMessages - 1, fewMessages, 0, "too few"},
		{100 * fewMessages, 0, 0, "too few"}, // all of one writer, beside whom no other wrote
		{100 * fewMessages, fewRuns - 1, 0, "too few"},
		{fewMessages, fewRuns, 0, false},
		{1, 1, 1, true}, // one that is broken is enough
	} {
		found := emitted(t, func(t *trial) { t.foundInterleaved(512, 4096, row.messages, row.runs, row.broken) })
		if len(found) != 1 || found[0].Value != row.want {
			t.Errorf("%d broken of %d: %v, want %v", row.broken, row.messages, found, row.want)
		}
		if row.want == "too few" && found[0].Agrees != nil {
			t.Errorf("%d messages agree with a rule", row.messages)
		}
	}
}

// TestFill compares the models with totals that were measured, on Linux with 4 KiB and with 64 KiB
// pages, or worked out from XNU's source.
func TestFill(t *testing.T) {
	const kib = 1 << 10
	for _, row := range []struct {
		os                      string
		capacity, slot, n, want int
	}{
		{"linux", 64 * kib, 4 * kib, 1, 65536},
		{"linux", 64 * kib, 4 * kib, 3, 65520},
		{"linux", 64 * kib, 4 * kib, 511, 65408},
		{"linux", 64 * kib, 4 * kib, 1000, 64000},
		{"linux", 64 * kib, 4 * kib, 2049, 32784},
		{"linux", 64 * kib, 4 * kib, 4095, 65520},
		{"linux", 64 * kib, 4 * kib, 4097, 45066},
		{"linux", 64 * kib, 4 * kib, 6000, 64096},
		{"linux", 64 * kib, 4 * kib, 61440, 65536},
		{"linux", 64 * kib, 4 * kib, 65535, 65535},
		{"linux", 64 * kib, 4 * kib, 65537, 65536},
		{"linux", 1024 * kib, 64 * kib, 4097, 983280},
		{"linux", 1024 * kib, 64 * kib, 32769, 524304},
		{"linux", 1024 * kib, 64 * kib, 65537, 720906},
		{"darwin", 0, 0, 1, 65536},
		{"darwin", 0, 0, 511, 65408},
		{"darwin", 0, 0, 513, 65536},
		{"darwin", 0, 0, 61440, 65536},
	} {
		if got, _ := fillModel(system{row.os, row.slot, row.capacity}.model(), row.n); got != row.want {
			t.Errorf("%s, %d bytes in slots of %d, writes of %d: %d; want %d", row.os, row.capacity, row.slot, row.n, got, row.want)
		}
	}
	if (system{"windows", 1, 4096}).model() != nil {
		t.Error("there is a model of Windows' pipes")
	}
}
