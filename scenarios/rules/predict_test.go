package rules

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/experiment"
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

// emitted returns what f reports in a trial of an anonymous pipe.
func emitted(t *testing.T, f func(*trial)) []results.Finding {
	t.Helper()
	var found []results.Finding
	own := experiment.NewTrial(t.Context(), func(f results.Finding) error {
		found = append(found, f)
		return nil
	})
	f(&trial{Trial: own, about: syspipe.Anonymous, kind: syspipe.Anonymous})
	if own.Err() != nil {
		t.Fatal(own.Err())
	}
	return found
}

// gVisor calls itself Linux and counts room in bytes: what is no page there differs from no rule.
func TestGVisorHasRulesOfItsOwn(t *testing.T) {
	gvisor := system{"gvisor", 4096, 64 << 10}
	for step, want := range map[string]any{
		"slot": 1, "all-or-nothing": 4096, "poll/writable-after": 1,
		"capacity/fill/2049": 63519, "capacity/fill/4097": 64 << 10, "capacity/fill/4095": 65520,
		"interleave/4096/read-4096": false, "settable/100000": nil,
		"broken/after-100/accepted": nil,
	} {
		if got, ok := gvisor.predict(step); ok != (want != nil) || got != want && ok {
			t.Errorf("%s: %v, %t; want %v", step, got, ok, want)
		}
	}
}

func TestAVerdictNeedsMessages(t *testing.T) {
	const size = 512
	for _, row := range []struct {
		messages, runs, broken int
		want                   any
	}{
		{1, 1, 0, "too few"},
		{leastMessages - 1, leastMessages, 0, "too few"},
		{100 * leastMessages, 0, 0, "too few"}, // all of one writer, beside whom no other wrote
		{100 * leastMessages, leastRuns - 1, 0, "too few"},
		{leastMessages, leastRuns, 0, false},
		{1, 1, 1, true}, // one that is broken is enough
	} {
		c := runCounter{size: size, messages: row.messages, runs: row.runs, broken: row.broken}
		found := emitted(t, func(t *trial) { t.foundInterleaved(size, 4096, c) })
		if len(found) != 1 || found[0].Value != row.want {
			t.Errorf("%d broken of %d: %v, want %v", row.broken, row.messages, found, row.want)
		}
		if row.want == "too few" && found[0].Verdict != results.Noted {
			t.Errorf("%d messages agree with a rule", row.messages)
		}
		if c.enough(interleaveTime) == (row.want == "too few") {
			t.Errorf("%d messages in %d runs: stops, or reads on", row.messages, row.runs)
		}
	}
}

// Two writers of messages of three bytes take turns, and one is cut by the other.
func TestRunsOfOneLetterAreCounted(t *testing.T) {
	c := runCounter{size: 3}
	c.count([]byte("aaabbbaaaaaabb"))
	c.count([]byte("bab"))
	if c.runs != 5 || c.broken != 1 || c.wholeMessages() != 5 {
		t.Errorf("counted %+v, %d whole", c, c.wholeMessages())
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
		got, _ := fillModel(system{row.os, row.slot, row.capacity}.model(), row.n)
		if got != row.want {
			t.Errorf("%s, %d bytes in slots of %d, writes of %d: %d; want %d",
				row.os, row.capacity, row.slot, row.n, got, row.want)
		}
	}
	if (system{"windows", 1, 4096}).model() != nil {
		t.Error("there is a model of Windows' pipes")
	}
}

func TestEveryRuleHasASource(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "freebsd", "windows", "gvisor", ""} {
		rules := Documented(goos)
		if len(rules) == 0 {
			t.Errorf("no rules for %s", goos)
		}
		for _, r := range rules {
			if r.OS != goos || r.About == "" || r.Says == "" || r.Source == "" {
				t.Errorf("%+v is incomplete", r)
			}
		}
	}
	if rules := Documented("plan9"); rules != nil {
		t.Errorf("rules for plan9: %v", rules)
	}
}

func TestPredict(t *testing.T) {
	for _, row := range []struct {
		os, step string
		want     any
		ok       bool
	}{
		{"linux", "capacity/fill/2049", 32784, true},
		{"linux", "short-write/4097", 4096, true},
		{"linux", "one-byte-after/511", true, true},
		{"linux", "settable/4097", 8192, true},
		{"darwin", "capacity/fill/511", 65408, true},
		{"darwin", "short-write/61440", 4096, true},
		{"freebsd", "all-or-nothing", 512, true},
		{"freebsd", "settable/100000", "unsupported", true},
		{"freebsd", "broken/after-0/sigpipe", true, true},
		{"darwin", "capacity/accepted", 65536, true},
		{"darwin", "broken/after-0/error", "EPIPE", true},
		{"linux", "broken/after-8192/accepted", 65536 + 8192, true},
		{"windows", "capacity/fill/511", nil, false},
		{"linux", "broken/after-0/notice", nil, false},
		{"linux", "capacity/fill/0", nil, false},
		{"linux", "settable/largest", nil, false},
		{"plan9", "slot", nil, false},
	} {
		got, ok := Predict(row.os, row.step)
		if got != row.want || ok != row.ok {
			t.Errorf("Predict(%s, %s) = %v, %v; want %v, %v", row.os, row.step, got, ok, row.want,
				row.ok)
		}
	}
}

// The same writes fill pipes of two systems differently.
func ExamplePredict() {
	linux, _ := Predict("linux", "capacity/fill/2049")
	darwin, _ := Predict("darwin", "capacity/fill/2049")
	fmt.Println("2049-byte writes: Linux takes", linux, "bytes, macOS", darwin)
	// Output: 2049-byte writes: Linux takes 32784 bytes, macOS 65536
}

func TestZones(t *testing.T) {
	fast := 10 * time.Millisecond
	slow := 46 * time.Millisecond
	offsets := []int{0, 1, 2, 3, 4, 8, 9, 16, 32, 64, 128, 256, 512}
	for want, slowAt := range map[string][]int{
		"none":        nil,
		"1..3":        {1, 2, 3},
		"0":           {0},
		"2..3, 9, 16": {2, 3, 9, 16},
		"512":         {512},
	} {
		times := make([]time.Duration, len(offsets))
		for i, offset := range offsets {
			times[i] = fast
			if slices.Contains(slowAt, offset) {
				times[i] = slow
			}
		}
		zone, slowdown := zoneOf(offsets, times)
		if got := rangesOf(zone); got != want {
			t.Errorf("slow at %v: zone %s", slowAt, got)
		}
		if slowAt != nil && slowdown != 4.6 {
			t.Errorf("slow at %v: %v times", slowAt, slowdown)
		}
	}
}
