package evidence_test

import (
	"fmt"
	"testing"

	"github.com/pipebench/pipebench/scenarios/faults/evidence"
)

func Example() {
	type found struct {
		Sent int `json:"sent"`
	}
	fields, err := evidence.Fields(found{Sent: 3})
	fmt.Println(fields, err)
	again, err := evidence.Into[found](fields)
	fmt.Println(again.Sent, err)
	// Output:
	// {"sent":3} <nil>
	// 3 <nil>
}

func TestWhatIsNoEvidence(t *testing.T) {
	if fields, err := evidence.Fields([]int{1}); err == nil {
		t.Errorf("a list became %v", fields)
	}
	if fields, err := evidence.Fields(func() {}); err == nil {
		t.Errorf("a function became %v", fields)
	}
	if got, err := evidence.Into[struct{ Sent int }](`{"Sent": "three"}`); err == nil {
		t.Errorf("a word became %v", got)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 65537: "65537 B", 64 << 10: "64 KiB", 16 << 20: "16 MiB", 16<<20 + 1: "16.0 MiB", 217243712: "207.2 MiB"} {
		if got := evidence.Size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
